// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/faultkit/provider"
)

// entrance is a door as bytes on a connection.
type entrance struct {
	path, header string
	// body is a charge of an order at this door.
	body func(order string) string
}

func entrances() map[string]entrance {
	const keyed = "Idempotency-Key: charge:lies:first\r\n"
	charge := func(order string) string { return fmt.Sprintf(`{"order_id":%q,"amount":100}`, order) }
	return map[string]entrance{
		"the reverse proxy": {"/http/pay/tools/pay.charge", keyed, charge},
		"/v1":               {"/v1/tools/shop/pay.charge/calls", keyed, func(order string) string { return `{"arguments":` + charge(order) + `}` }},
		"MCP": {"/mcp/shop", "Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2025-11-25\r\n", func(order string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay.charge","arguments":` + charge(order) + `,"_meta":{"deed/idempotency-key":"charge:lies:first"}}}`
		}},
	}
}

// lies are what follows the first headers of a request whose body is not what
// the request says of it.
func lies(body string) map[string]string {
	const chunked = "Transfer-Encoding: chunked\r\n"
	n := len(body)
	length := func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n", n) }
	return map[string]string{
		"a body that is not JSON":                     length(9) + "\r\n{not json",
		"two documents":                               length(n+3) + "\r\n" + body + " {}",
		"no UTF-8":                                    length(9) + "\r\n{\"a\":\"\xff\"}",
		"a member twice":                              length(13) + "\r\n" + `{"a":1,"a":2}`,
		"a client that leaves mid-body":               length(n) + "\r\n" + body[:n/2],
		"a length beyond the body":                    length(n+400) + "\r\n" + body,
		"two lengths":                                 length(n) + length(n-1) + "\r\n" + body,
		"a length that is none":                       "Content-Length: 1e3\r\n\r\n" + body,
		"a negative length":                           "Content-Length: -1\r\n\r\n" + body,
		"a chunked body without its end":              chunked + fmt.Sprintf("\r\n%x\r\n%s\r\n", n, body),
		"a chunk that breaks off":                     chunked + fmt.Sprintf("\r\n%x\r\n%s", n+9, body),
		"a chunk longer than it says":                 chunked + fmt.Sprintf("\r\n%x\r\n%s\r\n0\r\n\r\n", n-1, body),
		"a chunk shorter than it says":                chunked + fmt.Sprintf("\r\n%x\r\n%s\r\n0\r\n\r\n", n+1, body),
		"a chunk size that is none":                   chunked + "\r\nzz\r\n" + body + "\r\n0\r\n\r\n",
		"a chunk size beyond all numbers":             chunked + "\r\nfffffffffffffffff\r\n" + body + "\r\n0\r\n\r\n",
		"a chunk size below zero":                     chunked + fmt.Sprintf("\r\n-%x\r\n%s\r\n0\r\n\r\n", n, body),
		"an encoding that nobody knows":               "Transfer-Encoding: gzip, chunked\r\n\r\n" + body,
		"chunked twice":                               chunked + chunked + fmt.Sprintf("\r\n%x\r\n%s\r\n0\r\n\r\n", n, body),
		"an encoding that hides behind a space":       "Transfer-Encoding : chunked\r\n" + length(n) + "\r\n" + body,
		"chunks beside a length that end at once":     length(n) + chunked + "\r\n1\r\n{\r\n0\r\n\r\n",
		"a length and chunks of which none is a size": length(n) + chunked + "\r\n" + body,
	}
}

// withProxy adds the reverse proxy and starts gateways.
func (f *fleet) withProxy(gateways int, defaults object) {
	f.Helper()
	all := object{"lease": "3s", "timeout": "1m", "rate": "1000000/s", "repeat": "1000000/s"}
	maps.Copy(all, defaults)
	f.write(object{
		"ledger": f.place, "defaults": all,
		"upstreams": object{"shop": object{"url": f.fixture.MCP}},
		"http":      object{"pay": object{"url": f.fixture.Tools}},
		"routes":    object{"POST pay/tools/pay.charge": object{"receipt": object{"id": "/id"}}},
		"tools": object{
			"shop/pay.charge":    object{"effect": "non_idempotent", "key": "required", "receipt": object{"system": "shop", "id": "/structuredContent/id"}},
			"shop/ticket.search": object{"effect": "read_only"},
		},
	})
	for range gateways {
		f.start()
	}
}

// say writes bytes to a gateway and returns the answers, at most so many. It
// says no more after them, if it leaves.
func (f *fleet) say(text string, most int, leaves bool) (answers []*http.Response) {
	f.Helper()
	conn, err := net.Dial("tcp", f.addresses[0])
	f.must(err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, text)
	f.must(err)
	if leaves {
		f.must(conn.(*net.TCPConn).CloseWrite())
	}
	reader := bufio.NewReader(conn)
	for len(answers) < most {
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			break
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(strings.NewReader(string(body)))
		answers = append(answers, resp)
	}
	return answers
}

func TestRequestsThatLieClaimNothingAndSendNothing(t *testing.T) {
	f := newFleet(t, inPostgreSQL, cluster, 0, nil)
	f.withProxy(1, nil)
	client, err := api.New(api.Options{BaseURL: "http://" + f.addresses[0], HTTP: plain()})
	f.must(err)
	for at, in := range entrances() {
		head := "POST " + in.path + " HTTP/1.1\r\nHost: " + f.addresses[0] + "\r\nContent-Type: application/json\r\n" + in.header
		all := lies(in.body("lies"))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			for _, resp := range f.say(head+all[name], 2, true) {
				said, _ := io.ReadAll(resp.Body)
				switch {
				case resp.StatusCode < 400 || resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented:
					t.Errorf("%s, %s: answered %s: %s", at, name, resp.Status, said)
				case strings.HasPrefix(resp.Header.Get("Content-Type"), "application/") && !json.Valid(said):
					t.Errorf("%s, %s: the answer cannot be read: %s", at, name, said)
				case len(said) == 0:
					t.Errorf("%s, %s: %s without a word", at, name, resp.Status)
				}
			}
		}
		page, err := client.Page(t.Context(), api.Query{})
		f.must(err)
		if len(page.Operations) != 0 {
			t.Errorf("%s: %d operations were recorded", at, len(page.Operations))
		}
	}
	requests, err := f.fixture.Requests(t.Context(), provider.Selection{})
	f.must(err)
	if len(requests) != 0 {
		t.Errorf("the provider received %d requests", len(requests))
	}
	if told := f.charge(doors()[0], 0, "charge:lies:first", "lies"); told.decision != "execute" {
		t.Errorf("the key that the lies brought is worth %s", told)
	}
	f.counted("lies", 1, 1)
}

// Of a request with a length and chunks, the chunks hold (RFC 9112 section 6.1):
// what follows them is a request of its own, here as beyond the gateway.
func TestOfALengthAndChunksTheChunksHold(t *testing.T) {
	f := newFleet(t, inPostgreSQL, cluster, 0, nil)
	f.withProxy(1, nil)
	const path = "/http/pay/tools/pay.charge"
	request := func(key, order string, length int) string {
		body := fmt.Sprintf(`{"order_id":%q,"amount":100}`, order)
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
			path, key, length, len(body), body)
	}
	// The length ends amid the first chunk, and then amid what follows.
	for n, length := range []int{3, 4000} {
		first, second := fmt.Sprintf("first-%d", n), fmt.Sprintf("second-%d", n)
		answers := f.say(request("key-"+first, first, length)+request("key-"+second, second, length), 2, false)
		if len(answers) == 0 || len(answers) > 2 {
			t.Fatalf("%d answers", len(answers))
		}
		for i, resp := range answers {
			if resp.StatusCode != http.StatusOK {
				t.Errorf("answer %d is %s", i+1, resp.Status)
			}
		}
		f.counted(first, 1, 1)
		f.counted(second, len(answers)-1, len(answers)-1)
	}
}
