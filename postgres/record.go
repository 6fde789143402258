// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// record is the JSON of an operation. Receipts, arguments, result and the
// time of delivery have columns of their own.
type record struct {
	deed.Operation
	Key key `json:"key"`
}

type key struct {
	Actor      deed.Actor      `json:"actor,omitempty"`
	Family     deed.Family     `json:"family"`
	Text       string          `json:"text"`
	Generation int             `json:"generation"`
	Provenance deed.Provenance `json:"provenance"`
}

func encodeRecord(op *deed.Operation) (string, error) {
	r := record{Operation: *op, Key: key(op.Key)}
	r.Receipts, r.Arguments, r.Result, r.DeliveredAt = nil, nil, nil, time.Time{}
	r.Attempts = slices.Clone(op.Attempts)
	for i := range r.Attempts {
		a := &r.Attempts[i]
		a.BegunAt, a.SendBy, a.EndedAt = ledgerTime(a.BegunAt), ledgerTime(a.SendBy), ledgerTime(a.EndedAt)
		a.Bookings = slices.Clone(a.Bookings)
		for j := range a.Bookings {
			a.Bookings[j].At = ledgerTime(a.Bookings[j].At)
		}
	}
	if op.Approval != nil {
		approval := *op.Approval
		approval.ExpiresAt, approval.SpentAt, approval.AskedAt = ledgerTime(approval.ExpiresAt), ledgerTime(approval.SpentAt), ledgerTime(approval.AskedAt)
		approval.Votes = slices.Clone(approval.Votes)
		for i := range approval.Votes {
			approval.Votes[i].At = ledgerTime(approval.Votes[i].At)
		}
		r.Approval = &approval
	}
	for _, t := range []*time.Time{&r.CreatedAt, &r.ProposedAt, &r.AuthorizedAt, &r.ExpiresAt, &r.LeaseExpiresAt,
		&r.InputExpiresAt, &r.RetryAt, &r.SettledAt, &r.DispatchBy, &r.RetainUntil} {
		*t = ledgerTime(*t)
	}
	return encodeDocument(&r)
}

func decodeRecord(text string) (*deed.Operation, error) {
	var r record
	if err := decodeDocument(text, &r); err != nil {
		return nil, err
	}
	op := r.Operation
	op.Key = deed.Key(r.Key)
	return &op, nil
}

// encodeReceipts returns the lines that are added for receipts.
func encodeReceipts(receipts []deed.Receipt) (string, error) {
	var lines strings.Builder
	for _, r := range receipts {
		r.Result = nil
		r.CommittedAt = ledgerTime(r.CommittedAt)
		text, err := encodeDocument(&r)
		if err != nil {
			return "", err
		}
		lines.WriteString(text)
		lines.WriteByte('\n')
	}
	return lines.String(), nil
}

func decodeReceipts(lines string) ([]deed.Receipt, error) {
	var receipts []deed.Receipt
	for line := range strings.Lines(lines) {
		var r deed.Receipt
		if err := decodeDocument(strings.TrimSuffix(line, "\n"), &r); err != nil {
			return nil, err
		}
		receipts = append(receipts, r)
	}
	return receipts, nil
}

// encodeDocument writes a pointer to a value as JSON without losing bytes:
// JSON has no way to say text that is not UTF-8.
func encodeDocument(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	if bytes.Contains(text, []byte(`\ufffd`)) || bytes.Contains(text, []byte(`\u0000`)) || bytes.Contains(text, []byte(oddMark)) {
		odd := reflect.New(reflect.TypeOf(value).Elem()).Elem()
		odd.Set(eachText(reflect.ValueOf(value).Elem(), storedText))
		if text, err = json.Marshal(odd.Addr().Interface()); err != nil {
			return "", err
		}
	}
	return storedText(string(text)), nil
}

func decodeDocument(text string, into any) error {
	text = givenText(text)
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return err
	}
	if strings.Contains(text, oddMark) {
		value := reflect.ValueOf(into).Elem()
		value.Set(eachText(value, givenText))
	}
	return nil
}

// eachText copies a value with every text in it replaced; bytes and times are
// left alone.
func eachText(value reflect.Value, change func(string) string) reflect.Value {
	next := reflect.New(value.Type()).Elem()
	next.Set(value)
	switch value.Kind() {
	case reflect.String:
		next.SetString(change(value.String()))
	case reflect.Struct:
		if value.Type() == reflect.TypeFor[time.Time]() {
			return next
		}
		for i := range value.NumField() {
			next.Field(i).Set(eachText(value.Field(i), change))
		}
	case reflect.Pointer:
		if !value.IsNil() {
			at := reflect.New(value.Type().Elem())
			at.Elem().Set(eachText(value.Elem(), change))
			next.Set(at)
		}
	case reflect.Slice:
		if value.IsNil() || value.Type().Elem().Kind() == reflect.Uint8 {
			return next
		}
		next.Set(reflect.MakeSlice(value.Type(), value.Len(), value.Len()))
		for i := range value.Len() {
			next.Index(i).Set(eachText(value.Index(i), change))
		}
	case reflect.Map:
		if value.IsNil() {
			return next
		}
		next.Set(reflect.MakeMapWithSize(value.Type(), value.Len()))
		for _, name := range value.MapKeys() {
			next.SetMapIndex(eachText(name, change), eachText(value.MapIndex(name), change))
		}
	}
	return next
}
