// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// wanted is what the environment asks to be exported.
type wanted struct{ traces, metrics bool }

// environment reads the general variables of OpenTelemetry. Unlike there,
// nothing is exported by default: an endpoint or an exporter must be named.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
func environment() (wanted, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return wanted{}, nil
	}
	traces, tracesErr := signal("TRACES")
	metrics, metricsErr := signal("METRICS")
	return wanted{traces, metrics}, errors.Join(tracesErr, metricsErr)
}

func signal(name string) (bool, error) {
	variable := "OTEL_" + name + "_EXPORTER"
	switch exporter := os.Getenv(variable); exporter {
	case "none":
		return false, nil
	case "":
		if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_"+name+"_ENDPOINT") == "" {
			return false, nil
		}
	case "otlp":
	default:
		return false, fmt.Errorf("%s=%q: only otlp and none are supported; nothing is exported", variable, exporter)
	}
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_" + name + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := os.Getenv(variable); protocol {
		case "":
			continue
		case "http/protobuf":
			return true, nil
		default:
			return false, fmt.Errorf("%s=%q: only http/protobuf is supported; nothing is exported, use the collector's HTTP port (4318)", variable, protocol)
		}
	}
	return true, nil
}
