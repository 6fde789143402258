// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives OTLP over HTTP, as a real one does on port 4318.
type collector struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	spans    []*tracev1.Span
	metrics  map[string]*metricsv1.Metric
	resource map[string]string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t, metrics: map[string]*metricsv1.Metric{}, resource: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		var request collectortrace.ExportTraceServiceRequest
		c.read(w, r, &request, &collectortrace.ExportTraceServiceResponse{})
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range request.ResourceSpans {
			c.note(resource.Resource.Attributes)
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		var request collectormetrics.ExportMetricsServiceRequest
		c.read(w, r, &request, &collectormetrics.ExportMetricsServiceResponse{})
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range request.ResourceMetrics {
			c.note(resource.Resource.Attributes)
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					c.metrics[m.Name] = m
				}
			}
		}
	})
	c.server = httptest.NewServer(mux)
	t.Cleanup(c.server.Close)
	return c
}

func (c *collector) read(w http.ResponseWriter, r *http.Request, request, response proto.Message) {
	if kind := r.Header.Get("Content-Type"); kind != "application/x-protobuf" {
		c.t.Errorf("the export is %s", kind)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Errorf("reading an export: %v", err)
	}
	if err := proto.Unmarshal(body, request); err != nil {
		c.t.Errorf("an export is no protobuf: %v", err)
	}
	answer, err := proto.Marshal(response)
	if err != nil {
		c.t.Errorf("answering an export: %v", err)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	if _, err := w.Write(answer); err != nil {
		c.t.Errorf("answering an export: %v", err)
	}
}

func (c *collector) note(attributes []*commonv1.KeyValue) {
	for _, attribute := range attributes {
		c.resource[attribute.Key] = attribute.Value.GetStringValue()
	}
}
