.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  \1|\2/' | column -t -s '|'

.PHONY: demo
demo: ## Lose a reply, kill the gateway, repeat the call: what the provider received
	scripts/demo

.PHONY: test
test: ## Run every test, with its own set-up
	scripts/test

.PHONY: lint
lint: ## Run golangci-lint
	scripts/lint

.PHONY: bench
bench: ## Measure against the floor of disk and driver
	scripts/bench

.PHONY: campaign
campaign: ## Run the long versions of the tests (hours)
	scripts/campaign

.PHONY: fuzz
fuzz: ## Run every fuzz target (DEED_FUZZTIME each, default 5m)
	scripts/fuzz

.PHONY: release
release: ## Build the release archives into dist/ (VERSION=v0.1.0)
	scripts/release $(VERSION)
