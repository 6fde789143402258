// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/deed-run/deed"
)

// activities returns an environment for single Activities, all under one key.
func (b *bench) activities(name string, f any) *testsuite.TestActivityEnvironment {
	b.guard.Prepare = func(_ context.Context, _ activity.Info, call *deed.Call) error {
		call.Key = deed.OperationKey(key)
		return nil
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(b.options())
	env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	return env
}

// twice runs the Activity two times and returns what each gave, read as T.
func twice[T any](t *testing.T, f any, args ...any) (fresh, replayed T, recorded *deed.Operation) {
	t.Helper()
	b := newBench(t)
	env := b.activities("Activity", f)
	for i, into := range []*T{&fresh, &replayed} {
		value, err := env.ExecuteActivity("Activity", args...)
		if err != nil {
			t.Fatalf("run %d: %v", i+1, err)
		}
		if value.HasValue() {
			if err := value.Get(into); err != nil {
				t.Fatalf("run %d: %v", i+1, err)
			}
		}
	}
	return fresh, replayed, b.only()
}

// same fails unless the Activity ran once and both runs gave the same.
func same[T any](t *testing.T, runs *int, fresh, replayed T) {
	t.Helper()
	if *runs != 1 {
		t.Errorf("it ran %d times", *runs)
	}
	if diff := cmp.Diff(fresh, replayed, protocmp.Transform()); diff != "" {
		t.Errorf("the replay differs (- fresh, + replayed):\n%s", diff)
	}
}

func TestAReplayGivesWhatTheActivityGave(t *testing.T) {
	t.Run("an object", func(t *testing.T) {
		runs := 0
		fresh, replayed, op := twice[refunded](t, func(context.Context, refund) (refunded, error) { runs++; return refunded{ID: "re_1", Amount: 12}, nil }, order)
		same(t, &runs, fresh, replayed)
		if fresh.ID != "re_1" || string(op.Arguments) != `{"order":"1042","amount":12}` || string(op.Result) != `{"temporal_result":{"id":"re_1","amount":12}}` {
			t.Errorf("got %+v; the ledger holds %s and %s", fresh, op.Arguments, op.Result)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		runs := 0
		_, _, op := twice[any](t, func(context.Context, string, int) error { runs++; return nil }, "1042", 12)
		same(t, &runs, 0, 0)
		if string(op.Arguments) != `{"args":["1042",12]}` || string(op.Result) != `{"temporal_payloads":{}}` {
			t.Errorf("the ledger holds %s and %s", op.Arguments, op.Result)
		}
	})
	t.Run("no arguments and no object", func(t *testing.T) {
		runs := 0
		fresh, replayed, op := twice[*refunded](t, func(context.Context) (*refunded, error) { runs++; return nil, nil })
		same(t, &runs, fresh, replayed)
		if string(op.Arguments) != `{"args":[]}` {
			t.Errorf("the ledger holds %s", op.Arguments)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		runs := 0
		fresh, replayed, op := twice[[]byte](t, func(context.Context, []byte) ([]byte, error) { runs++; return []byte{0, 1, 2}, nil }, []byte{3, 4})
		same(t, &runs, fresh, replayed)
		if len(fresh) != 3 || string(op.Arguments) != `{"args":["AwQ="]}` || !strings.Contains(string(op.Result), "temporal_payload") {
			t.Errorf("got %v; the ledger holds %s and %s", fresh, op.Arguments, op.Result)
		}
	})
	t.Run("a protocol buffer", func(t *testing.T) {
		runs := 0
		order := &commonpb.WorkflowType{Name: "order"}
		fresh, replayed, op := twice[*commonpb.WorkflowType](t, func(_ context.Context, in *commonpb.WorkflowType) (*commonpb.WorkflowType, error) {
			runs++
			return &commonpb.WorkflowType{Name: in.Name + " refunded"}, nil
		}, order)
		same(t, &runs, fresh, replayed)
		if replayed.Name != "order refunded" || string(op.Arguments) != `{"name":"order"}` {
			t.Errorf("got %v; the ledger holds %s", replayed, op.Arguments)
		}
	})
	t.Run("a map that is nil", func(t *testing.T) {
		b, runs := newBench(t), 0
		env := b.activities("Activity", func(context.Context) (map[string]int, error) { runs++; return nil, nil })
		for i := range 2 {
			value, err := env.ExecuteActivity("Activity")
			if err != nil {
				t.Fatal(err)
			}
			had := map[string]int{"from before": 1}
			if err := value.Get(&had); err != nil || had != nil || runs != 1 {
				t.Errorf("run %d left %v, %v; it ran %d times", i+1, had, err, runs)
			}
		}
	})
	t.Run("JSON with metadata of its own", func(t *testing.T) {
		runs := 0
		own := converter.NewRawValue(&commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON), "schema": []byte("v2")}, Data: []byte(`"text"`),
		})
		fresh, replayed, _ := twice[converter.RawValue](t, func(context.Context) (converter.RawValue, error) { runs++; return own, nil })
		same(t, &runs, fresh.Payload(), replayed.Payload())
	})
	t.Run("an object that looks like an envelope", func(t *testing.T) {
		runs := 0
		fresh, replayed, _ := twice[map[string]int](t, func(context.Context) (map[string]int, error) {
			runs++
			return map[string]int{"temporal_result": 1}, nil
		})
		same(t, &runs, fresh, replayed)
	})
	t.Run("a large number", func(t *testing.T) {
		runs := 0
		fresh, replayed, _ := twice[uint64](t, func(context.Context, uint64) (uint64, error) { runs++; return 1<<64 - 1, nil }, uint64(1<<64-1))
		same(t, &runs, fresh, replayed)
	})
	t.Run("a payload as it is", func(t *testing.T) {
		runs := 0
		fresh, replayed, op := twice[string](t, func(_ context.Context, in converter.RawValue) (converter.RawValue, error) { runs++; return in, nil }, "text")
		same(t, &runs, fresh, replayed)
		if replayed != "text" || string(op.Arguments) != `{"args":["text"]}` {
			t.Errorf("got %q; the ledger holds %s", replayed, op.Arguments)
		}
	})
}

func TestEveryFrozenArgumentIsReadInTheActivitysType(t *testing.T) {
	b := newBench(t)
	b.rules["temporal/Activity"] = func() deed.Rule {
		rule := deed.DefaultRule("temporal/Activity")
		rule.Approval = &deed.ApprovalRule{OnCall: true}
		return rule
	}()
	type got struct {
		Order refund
		Bytes []byte
		Count uint64
		Maybe *refund
		Proto string
	}
	env := b.activities("Activity", func(_ context.Context, order refund, bytes []byte, count uint64, maybe *refund, proto *commonpb.WorkflowType) (got, error) {
		return got{order, bytes, count, maybe, proto.GetName()}, nil
	})
	args := []any{order, []byte{1}, uint64(1 << 63), &refund{Order: "1"}, &commonpb.WorkflowType{Name: "old"}}
	if _, err := env.ExecuteActivity("Activity", args...); err == nil {
		t.Fatal("it ran without consent")
	}
	op := b.only()
	edited := `{"args":[{"order":"7","amount":1},"AgM=",18446744073709551615,{"order":"2","amount":2},{"name":"new"}]}`
	if _, err := b.rt.EditAndApprove(t.Context(), operator, op.ID, op.Approval.Digest, []byte(edited), "why"); err != nil {
		t.Fatal(err)
	}
	value, err := env.ExecuteActivity("Activity", args...)
	if err != nil {
		t.Fatal(err)
	}
	var ran got
	if err := value.Get(&ran); err != nil {
		t.Fatal(err)
	}
	want := got{refund{"7", 1}, []byte{2, 3}, 1<<64 - 1, &refund{"2", 2}, "new"}
	if diff := cmp.Diff(want, ran); diff != "" {
		t.Errorf("it ran with other arguments (- edited, + ran):\n%s", diff)
	}
}

func TestArgumentsThatNobodyCanReadDoNotRun(t *testing.T) {
	b := newBench(t)
	env := b.activities("Activity", func(context.Context, converter.RawValue) error {
		t.Error("it ran")
		return nil
	})
	_, err := env.ExecuteActivity("Activity", converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte("json/plain")}, Data: []byte(`{"order":`),
	}))
	var told interface{ Error() string }
	if !errors.As(err, &told) || !strings.Contains(told.Error(), "denied") {
		t.Errorf("it failed with %v", err)
	}
}

// sealed stands for a converter that encrypts.
func sealed() converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), converter.NewZlibCodec(converter.ZlibCodecOptions{AlwaysEncode: true}))
}

func TestAReplayIsSealedByTheWorkersConverterAndTheLedgerReadsPlainText(t *testing.T) {
	b := newBench(t)
	runs := 0
	env := b.activities("Activity", func(context.Context, refund) (refunded, error) { runs++; return refunded{ID: "re_1"}, nil })
	env.SetDataConverter(sealed())
	for i := range 2 {
		value, err := env.ExecuteActivity("Activity", order)
		if err != nil {
			t.Fatalf("run %d: %v", i+1, err)
		}
		var got refunded
		if err := value.Get(&got); err != nil || got.ID != "re_1" {
			t.Errorf("run %d: got %+v, %v", i+1, got, err)
		}
	}
	if op := b.only(); runs != 1 || string(op.Result) != `{"temporal_result":{"id":"re_1","amount":0}}` {
		t.Errorf("it ran %d times and the ledger holds %s", runs, op.Result)
	}
}

func TestWhatAnInterceptorHadEncodedIsReplayedAsItWas(t *testing.T) {
	b := newBench(t)
	runs := 0
	env := b.activities("Activity", func(context.Context) (*commonpb.Payloads, error) {
		runs++
		return sealed().ToPayloads(refunded{ID: "re_1"})
	})
	env.SetDataConverter(sealed())
	for i := range 2 {
		value, err := env.ExecuteActivity("Activity")
		if err != nil {
			t.Fatalf("run %d: %v", i+1, err)
		}
		var got refunded
		if err := value.Get(&got); err != nil || got.ID != "re_1" {
			t.Errorf("run %d: got %+v, %v", i+1, got, err)
		}
	}
	if runs != 1 {
		t.Errorf("it ran %d times", runs)
	}
}
