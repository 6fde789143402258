// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// export answers GET /export with every operation of a filter, as NDJSON or
// CSV, without arguments and results. A file that could not be finished ends
// the connection: it never looks whole.
func (v *visit) export() {
	f, wrong := readFilter(v.URL.Query(), v.now)
	format := v.URL.Query().Get("format")
	if format != "csv" && format != "ndjson" {
		wrong = "format is csv or ndjson"
	}
	if wrong != "" {
		v.show(http.StatusBadRequest, "failure", "This cannot be exported", failure{Head: "This cannot be exported", Text: wrong + ". Nothing was exported.", Back: "/ledger"})
		return
	}
	query := f.query
	query.Limit = storePage
	page, err := v.console.Runtime.List(v.Context(), v.who, query)
	if err != nil {
		v.failed(err)
		return
	}
	name := "deed-operations-" + v.now.UTC().Format("20060102T150405Z") + "." + format
	v.Header().Set("Content-Type", map[string]string{"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}[format])
	v.Header().Set("Content-Disposition", "attachment; filename=\""+name+"\"")
	out := bufio.NewWriter(v)
	write := ndjsonWriter(out, v.now)
	if format == "csv" {
		write = csvWriter(out, v.now)
	}
	for {
		for _, op := range page.Operations {
			if op.ID < f.since {
				_ = out.Flush()
				return
			}
			if !f.matches(op) {
				continue
			}
			if write(op) != nil {
				return
			}
		}
		if query.Before = page.Next; query.Before == "" {
			_ = out.Flush()
			return
		}
		if page, err = v.console.Runtime.List(v.Context(), v.who, query); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

func ndjsonWriter(out *bufio.Writer, now time.Time) func(*deed.Operation) error {
	encoder := json.NewEncoder(out)
	return func(op *deed.Operation) error {
		line := api.Operation{
			OperationID: op.ID, Tenant: op.Tenant, Actor: op.Actor, Key: keyOf(op), Family: op.Key.Family, Provenance: op.Key.Provenance,
			Tool: op.Tool, Effect: op.Effect, EffectFingerprint: op.Fingerprint, UpstreamIdentity: op.UpstreamIdentity,
			PolicyRevision: op.PolicyRevision, PayloadDigest: op.PayloadDigest, Meta: op.Meta,
			Status: op.EffectiveStatus(now), Reason: op.Reason, Retryable: op.Retryable, Message: op.Message, DecidedBy: op.DecidedBy,
			NoMoreAttempts: op.NoMoreAttempts, Diverged: op.Diverged, Contradicted: op.Contradicted, Attempt: op.AttemptNumber(),
			Receipt: op.Receipt(), Receipts: op.Receipts, ResultDigest: op.ResultDigest, ResultIsError: op.ResultIsError,
			Supersedes: op.Supersedes, SupersededBy: op.SupersededBy, CreatedAt: op.CreatedAt.UTC(), AuthorizedAt: op.AuthorizedAt,
			SettledAt: op.SettledAt, DeliveredAt: op.DeliveredAt, Version: op.Version,
		}
		if json.Valid([]byte(op.Matter)) {
			line.Matter = json.RawMessage(op.Matter)
		}
		return encoder.Encode(line)
	}
}

func csvWriter(out *bufio.Writer, now time.Time) func(*deed.Operation) error {
	table := csv.NewWriter(out)
	_ = table.Write([]string{
		"operation_id", "created_at", "settled_at", "status", "reason", "tool", "actor", "idempotency_key", "effect_fingerprint",
		"matter", "attempts", "remote_id", "remote_url", "established_by", "decided_by", "message",
	})
	return func(op *deed.Operation) error {
		var ids, urls, by []string
		for _, r := range op.Receipts {
			ids, urls, by = append(ids, r.RemoteID), append(urls, r.RemoteURL), append(by, r.EstablishedBy)
		}
		cells := []string{
			string(op.ID), moment8601(op.CreatedAt), moment8601(op.SettledAt), string(op.EffectiveStatus(now)), string(op.Reason),
			string(op.Tool), string(op.Actor), keyOf(op), string(op.Fingerprint), string(op.Matter), strconv.Itoa(op.AttemptNumber()),
			strings.Join(ids, " "), strings.Join(urls, " "), strings.Join(by, " "), op.DecidedBy, op.Message,
		}
		for i := range cells {
			cells[i] = inertCell(cells[i])
		}
		if err := table.Write(cells); err != nil {
			return err
		}
		table.Flush()
		return table.Error()
	}
}

// inertCell keeps a spreadsheet from taking a text for a formula: it begins
// with an apostrophe then.
func inertCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n|%", rune(text[0])) {
		return "'" + text
	}
	return text
}

func moment8601(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
