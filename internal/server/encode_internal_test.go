// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/api"
)

// An answer that is written member by member must be what encoding/json makes
// of it, whatever is set, and whatever members the types learn.
func TestAnAnswerIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	const seeds = 3000
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 1))
		// From nothing set to everything set.
		f := filler{random: random, share: float64(seed%101) / 100}
		var answer api.CallAnswer
		f.fill(reflect.ValueOf(&answer).Elem())
		want, wantErr := reflected(answer)
		got, gotErr := encode(answer)
		if wantErr != nil || gotErr != nil {
			t.Fatalf("seed %d: encoding/json says %v, encode %v", seed, wantErr, gotErr)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Fatalf("seed %d (-encoding/json +encode):\n%s", seed, diff)
		}
	}
}

func TestWhatJSONCannotHoldIsAnError(t *testing.T) {
	answer := api.CallAnswer{Verdict: api.Verdict{Operation: &api.Operation{CreatedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}}}
	if doc, err := encode(answer); err == nil {
		t.Errorf("a year of five digits was written: %s", doc)
	}
}

// filler sets a share of all fields to something.
type filler struct {
	random *rand.Rand
	share  float64
}

func (f filler) pick(list ...string) string { return list[f.random.IntN(len(list))] }

func (f filler) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		zone := time.UTC
		if f.random.IntN(4) == 0 {
			zone = time.FixedZone("", 3600*f.random.IntN(12))
		}
		v.Set(reflect.ValueOf(time.Unix(f.random.Int64N(1<<32), int64(f.random.IntN(3))*f.random.Int64N(1e9)).In(zone)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(f.pick(`{"a":1,"b":"<&>"}`, ` { "a" : [ 1, 2 ] } `, `"x y"`, `null`, `["é"]`))))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Anonymous || f.random.Float64() < f.share {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		n := f.random.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.random.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(value)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(f.pick("", "plain:text-1", `with "quotes" and \`, "a\nline\x01", "<b>&", "é ☃ \u2028", "lone \xff byte", "\x7f"))
	case reflect.Bool:
		v.SetBool(f.random.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(float64(f.random.IntN(4)) / 2)
	case reflect.Int, reflect.Int64:
		v.SetInt(f.random.Int64N(5) - 2)
	case reflect.Uint8:
		v.SetUint(uint64(f.random.IntN(256)))
	default:
		panic("the filler knows no " + v.Kind().String())
	}
}
