.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-10s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

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
