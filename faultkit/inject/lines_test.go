// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/faultkit/inject"
)

const (
	request = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"n":9007199254740993}}}`
	reply   = `{"jsonrpc":"2.0","id":7,"result":{}}`
)

func TestLinesThatNoPlanNamesPassByteForByte(t *testing.T) {
	in := `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + "no json\n" + request + "\n"
	var out bytes.Buffer
	r, w := inject.Streams(t.Context(), inject.NewController(), strings.NewReader(in), &out, nil)
	passed, err := io.ReadAll(r)
	must(t, err)
	_, err = io.WriteString(w, reply[:10])
	must(t, err)
	_, err = io.WriteString(w, reply[10:]+"\n")
	must(t, err)
	if diff := cmp.Diff(in+reply+"\n", string(passed)+out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheEndOfAConnectionIsToldOnce(t *testing.T) {
	for mishap, want := range map[inject.Mishap]string{inject.Crash: "", inject.CutReply: reply[:len(reply)/2]} {
		var out bytes.Buffer
		ended := 0
		controller := inject.NewController(inject.Plan{Mishap: mishap})
		r, w := inject.Streams(t.Context(), controller, strings.NewReader(request+"\n"), &out, func() { ended++ })
		_, err := io.ReadAll(r)
		must(t, err)
		for range 2 {
			if _, err := io.WriteString(w, reply+"\n"); !errors.Is(err, inject.ErrEnded) {
				t.Errorf("%s: write: %v", mishap, err)
			}
		}
		if ended != 1 || out.String() != want || controller.StruckCount() != 1 {
			t.Errorf("%s: ended %d, wrote %q, struck %d", mishap, ended, out.String(), controller.StruckCount())
		}
	}
}

func TestTheCopyOfARequestHasItsOwnIdAndItsAnswerVanishes(t *testing.T) {
	var out bytes.Buffer
	r, w := inject.Streams(t.Context(), inject.NewController(inject.Plan{Mishap: inject.Duplicate}), strings.NewReader(request+"\n"), &out, nil)
	passed, err := io.ReadAll(r)
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(passed)), "\n")
	if len(lines) != 2 || lines[0] != request || !strings.Contains(lines[1], `"copy-1"`) || !strings.Contains(lines[1], "9007199254740993") {
		t.Fatalf("passed %q", lines)
	}
	_, err = io.WriteString(w, strings.Replace(reply, "7", `"copy-1"`, 1)+"\n"+reply+"\n")
	must(t, err)
	if out.String() != reply+"\n" {
		t.Errorf("wrote %q", out.String())
	}
}

func TestAPlanCountsItsOwnTool(t *testing.T) {
	c := inject.NewController(inject.Plan{Mishap: inject.Crash, Tool: "b", Nth: 2, Times: 2})
	var got []inject.Mishap
	for _, tool := range []string{"a", "b", "a", "b", "b", "b"} {
		m, err := c.Judge(t.Context(), inject.Seen{Tool: tool})
		must(t, err)
		got = append(got, m)
	}
	if diff := cmp.Diff([]inject.Mishap{"", "", "", inject.Crash, inject.Crash, ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
