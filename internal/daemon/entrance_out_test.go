// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// A claim that was on its way when the gateway began to stop is given, and awaited as
// others are.
func TestAClaimOnItsWayIsAwaited(t *testing.T) {
	defer goleak.VerifyNone(t)
	d := draining(t, func(text string) { t.Log(text) })
	conn, err := net.Dial("tcp", d.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	asked := refund("refund:order-1:first")
	body, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintf(conn, "POST /v1/claims HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	reader := bufio.NewReader(conn)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "100") { // its body is being read
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = reader.ReadString('\n')
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop(context.Background()) }()
	worker := bearing(t, d, "")
	refusing(t, worker)
	time.Sleep(100 * time.Millisecond) // Stop looks which claims are out
	if _, err := conn.Write(body); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	var claim api.ClaimAnswer
	if err := json.NewDecoder(response.Body).Decode(&claim); err != nil || claim.Decision != deed.Execute {
		t.Fatalf("%+v, %v", claim, err)
	}
	op, err := worker.Settle(t.Context(), claim.OperationID, api.SettleRequest{
		Attempt: claim.Attempt, ClaimToken: asked.ClaimToken, Outcome: api.SettleCommitted, Receipt: &api.StatedReceipt{RemoteID: "re_1"},
	})
	if err != nil || op.Status != deed.StatusCommitted {
		t.Errorf("the settlement: %+v, %v", op, err)
	}
	select {
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
}

// A claim that was settled at another gateway is out no longer.
func TestAClaimThatWasSettledElsewhereIsNotAwaited(t *testing.T) {
	defer goleak.VerifyNone(t)
	lines := make(chan string, 100)
	d := draining(t, func(text string) { lines <- text })
	claim, err := bearing(t, d, "").Claim(t.Context(), refund("refund:order-1:first"))
	if err != nil || claim.Decision != deed.Execute {
		t.Fatalf("%+v, %v", claim, err)
	}
	if err := d.SettleElsewhere(claim.OperationID, claim.Attempt, "worker-1:refund:order-1:first"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := d.Stop(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	close(lines)
	for line := range lines {
		if strings.Contains(line, "was settled") {
			t.Error(line)
		}
	}
}

// What a worker settles as unknown while a gateway stops is not a call that it left.
func TestASettlementAsUnknownIsNoCallThatWasLeft(t *testing.T) {
	defer goleak.VerifyNone(t)
	lines := make(chan string, 100)
	d := draining(t, func(text string) { lines <- text })
	worker := bearing(t, d, "")
	claim, err := worker.Claim(t.Context(), refund("refund:order-1:first"))
	if err != nil || claim.Decision != deed.Execute {
		t.Fatalf("%+v, %v", claim, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop(context.Background()) }()
	refusing(t, worker)
	if _, err := worker.Settle(t.Context(), claim.OperationID, api.SettleRequest{
		Attempt: claim.Attempt, ClaimToken: "worker-1:refund:order-1:first", Outcome: api.SettleUnknown,
	}); err != nil {
		t.Error(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	close(lines)
	for line := range lines {
		if strings.Contains(line, "had an answer") {
			t.Error(line)
		}
	}
}
