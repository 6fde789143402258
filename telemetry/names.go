// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import "go.opentelemetry.io/otel/attribute"

// Names of the conventions for generative AI and MCP. They are in development
// there and have left the Go package semconv, so they are kept here:
// https://github.com/open-telemetry/semantic-conventions-genai (docs/gen-ai).
const (
	keyErrorType     attribute.Key = "error.type"
	keyMethod        attribute.Key = "mcp.method.name"
	keyOperationName attribute.Key = "gen_ai.operation.name"
	keyToolName      attribute.Key = "gen_ai.tool.name"
	keyTransport     attribute.Key = "network.transport"

	methodToolsCall      = "tools/call"
	operationExecuteTool = "execute_tool"

	// errorTool is what the conventions ask for when a tool answered with an
	// error result; errorOther when nothing more is known.
	errorTool  = "tool_error"
	errorOther = "_OTHER"
	// toolOther stands for every tool beyond the known or admitted ones.
	toolOther = "_other"

	meterServerDuration  = "mcp.server.operation.duration"
	meterLibraryDuration = "gen_ai.execute_tool.duration"
)

// Names of deed's own: rename never, add freely.
const (
	keyAgentTool  attribute.Key = "agent.tool.name"
	keySideEffect attribute.Key = "agent.tool.side_effect"
	keyEffect     attribute.Key = "agent.tool.effect"

	keyKey         attribute.Key = "agent.idempotency.key"
	keyFingerprint attribute.Key = "agent.idempotency.fingerprint"
	keyDecision    attribute.Key = "agent.idempotency.decision"
	keyReason      attribute.Key = "agent.idempotency.reason"
	keyRemoteID    attribute.Key = "agent.idempotency.receipt.remote_id"
	keyOperationID attribute.Key = "agent.idempotency.operation.id"
	keyStatus      attribute.Key = "agent.idempotency.status"
	keyAttempt     attribute.Key = "agent.idempotency.attempt"
	keyProvenance  attribute.Key = "agent.idempotency.provenance"
	keyWouldBe     attribute.Key = "agent.idempotency.would_be"

	keyApprovalDecision attribute.Key = "agent.approval.decision"
	keyStoreOperation   attribute.Key = "agent.store.operation"
	keyWhat             attribute.Key = "agent.idempotency.invariant"

	eventClaimed  = "agent.idempotency.claimed"
	eventStored   = "agent.idempotency.receipt.stored"
	eventReplayed = "agent.idempotency.replayed"
	eventLost     = "agent.idempotency.lease.lost"
	eventUnclear  = "agent.idempotency.uncertain"
	eventViolated = "agent.idempotency.invariant_violated"

	meterDecisions       = "agent.idempotency.decisions"
	meterOperations      = "agent.idempotency.operations"
	meterOldestUncertain = "agent.idempotency.oldest_uncertain_age"
	meterLeaseLosses     = "agent.idempotency.lease_losses"
	meterViolations      = "agent.idempotency.invariant_violations"
	meterApprovalWait    = "agent.approval.wait"
	meterStoreDuration   = "agent.store.operation.duration"
)

// scopeName names the instrumentation in everything that is exported.
const scopeName = "github.com/deed-run/deed/telemetry"

// metricLabels are the only attributes that a metric of this package may carry.
// Each has few values: of a closed list, of the policy's tools, or `_other`.
func metricLabels() []attribute.Key {
	return []attribute.Key{
		keyAgentTool, keyApprovalDecision, keyDecision, keyErrorType, keyMethod,
		keyOperationName, keySideEffect, keyStatus, keyStoreOperation, keyToolName, keyTransport,
	}
}
