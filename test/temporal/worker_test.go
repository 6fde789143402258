// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
	deedtemporal "github.com/deed-run/deed/temporal"
)

// setting is what a worker's process is told.
type setting struct {
	Address   string
	Namespace string
	Queue     string
	// Provider is the base URL of the fixture's tools.
	Provider string
	// Ledger is the file that guards the Activities; empty: nothing does.
	Ledger string
}

const settingVariable = "DEED_TEST_TEMPORAL_SETTING"

type refund struct {
	Order  string `json:"order_id"`
	Amount int    `json:"amount"`
}

type refunded struct {
	ID string `json:"id"`
}

// outcome is what the Workflow knows at its end.
type outcome struct {
	Refunded refunded
	// Report is set when the Activity returned no result.
	Report *deedtemporal.Report
}

const tool = deed.Tool("temporal/Refund")

// work is the main function of a worker: it runs until its input ends.
func work() error {
	var s setting
	if err := json.Unmarshal([]byte(os.Getenv(settingVariable)), &s); err != nil {
		return err
	}
	c, err := client.Dial(client.Options{HostPort: s.Address, Namespace: s.Namespace, Logger: quiet{}})
	if err != nil {
		return err
	}
	defer c.Close()
	var options worker.Options
	if s.Ledger != "" {
		ledger, err := sqlite.Open(context.Background(), s.Ledger, sqlite.Options{})
		if err != nil {
			return err
		}
		defer ledger.Close()
		rt, err := runtimeOn(ledger)
		if err != nil {
			return err
		}
		defer rt.Close(context.Background())
		guard, err := deedtemporal.New(deedtemporal.Options{
			Runtime:   rt,
			Principal: deed.Principal{Tenant: "acme", Actor: "orders", Rights: []deed.Right{deed.RightCall}},
		})
		if err != nil {
			return err
		}
		options.Interceptors = []interceptor.WorkerInterceptor{guard}
	}
	w := worker.New(c, s.Queue, options)
	w.RegisterActivity(&payments{url: s.Provider})
	w.RegisterWorkflow(refundOrder)
	w.RegisterWorkflow(refundThenFail)
	if err := w.Start(); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	w.Stop()
	return nil
}

func runtimeOn(store deed.Store) (*deed.Runtime, error) {
	rule := deed.DefaultRule(tool)
	rule.Lease, rule.TimeoutHard, rule.Wait = 5*time.Second, time.Minute, time.Second
	return deed.New(deed.Options{Store: store, Policy: deed.FixedPolicy{tool: rule}})
}

type payments struct{ url string }

// Refund is the Activity: one request to the provider, which is never repeated.
func (p *payments) Refund(ctx context.Context, r refund) (refunded, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return refunded{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/tools/pay.refund", bytes.NewReader(body))
	if err != nil {
		return refunded{}, deed.NotSent(err)
	}
	request.GetBody = nil
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return refunded{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return refunded{}, err
	}
	var done refunded
	if err := json.Unmarshal(text, &done); err != nil || answer.StatusCode != http.StatusOK {
		return refunded{}, fmt.Errorf("status %d: %s", answer.StatusCode, text)
	}
	deedtemporal.SetReceipt(ctx, deed.Receipt{RemoteSystem: "payments", RemoteID: done.ID})
	return done, nil
}

// refundOrder names the refund after the order.
func refundOrder(ctx workflow.Context, r refund, limit time.Duration) (outcome, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: limit,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 1},
	})
	var o outcome
	err := workflow.ExecuteActivity(deedtemporal.WithKey(ctx, "refund:order-"+r.Order+":1"), "Refund", r).Get(ctx, &o.Refunded)
	if report, ok := deedtemporal.ReportOf(err); ok && report.Done() {
		o.Report, err = &report, nil
	}
	return o, err
}

// refundThenFail fails after its first run's refund, as a Workflow with a fault
// in it does.
func refundThenFail(ctx workflow.Context, r refund, limit time.Duration) (outcome, error) {
	o, err := refundOrder(ctx, r, limit)
	if err == nil && workflow.GetInfo(ctx).Attempt == 1 {
		err = errors.New("a fault after the refund")
	}
	return o, err
}
