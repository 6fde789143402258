// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
)

// longestKept is the length up to which an answer's body is kept: the ledger keeps
// 1 MiB, and the rest of the answer needs room too. Of a longer one the digest and
// the receipt are kept.
const longestKept = 1<<20 - 64<<10

// reply is what came of a request.
type reply struct {
	stored
	// raw is the header as it came, for the caller that waited.
	raw http.Header
	// whole: the answer was read to its end.
	whole bool
	// passed: the body was handed over while it came; last is its final byte, held
	// back until the receipt is durable.
	passed bool
	last   []byte
	digest string
	unsent bool
	err    error
}

// long is an answer that is handed over while it comes.
type long struct {
	status int
	header http.Header
	parts  chan []byte
}

// receive reads an answer. One that is long, or comes as a stream of events, is
// handed over as it comes, but for its last byte. Of one that the caller does not
// get, the status says all, and its body is left.
func (a *attempt) receive(resp *http.Response) reply {
	r := reply{stored: stored{resp.StatusCode, kept(resp.Header), nil}, raw: endToEnd(resp.Header)}
	if !a.passable(resp.StatusCode) {
		r.whole = true
		return r
	}
	sum := sha256.New()
	var out *long
	if resp.ContentLength > longestKept || isStream(resp.Header) {
		out = a.begin(resp)
	}
	buf := make([]byte, 32<<10)
	var total int64
	keep := true
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			a.progress()
			part := slices.Clone(buf[:n])
			total += int64(n)
			sum.Write(part)
			if keep && total > longestKept {
				keep = false
				if out == nil {
					out = a.begin(resp)
					a.give(out, r.body)
				}
				r.body = nil
			}
			if keep {
				r.body = append(r.body, part...)
			}
			if out != nil {
				a.give(out, append(r.last, part[:n-1]...))
				r.last = []byte{part[n-1]}
			}
		}
		if errors.Is(err, io.EOF) {
			err = a.short(resp, total)
		} else if err == nil {
			continue
		}
		r.err, r.whole, r.passed = err, err == nil, out != nil
		r.digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
		if !keep {
			r.body = nil
		} else {
			r.digest = ""
		}
		if out != nil {
			close(out.parts)
		}
		return r
	}
}

// short says that fewer bytes came than were announced, which a handler in this
// process may do unnoticed.
func (a *attempt) short(resp *http.Response, total int64) error {
	if text := resp.Header.Get("Content-Length"); text != "" && a.x.Method != http.MethodHead && bodyAllowed(resp.StatusCode) && resp.StatusCode != http.StatusNotModified {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n != total {
			return fmt.Errorf("the answer has %d of %d bytes", total, n)
		}
	}
	return nil
}

// passable reports whether the caller gets the upstream's own answer.
func (a *attempt) passable(status int) bool {
	return looksOn(a.grant) || status < 300 || definite(a.route, status)
}

func (a *attempt) begin(resp *http.Response) *long {
	l := &long{resp.StatusCode, endToEnd(resp.Header), make(chan []byte)}
	a.long <- l
	return l
}

// give hands a part over unless the caller has left.
func (a *attempt) give(l *long, part []byte) {
	if len(part) == 0 {
		return
	}
	select {
	case l.parts <- part:
	case <-a.left:
	case <-a.side.ctx.Done():
	}
}

// streams are media types whose readers do not wait for the end.
var streams = []string{"text/event-stream", "application/x-ndjson", "application/jsonl", "application/json-seq", "multipart/x-mixed-replace"}

func isStream(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return slices.Contains(streams, kind)
}
