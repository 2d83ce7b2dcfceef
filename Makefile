.DEFAULT_GOAL := help
.PHONY: help setup demo test chaos interop lint types bench docs check-deploy audit sbom clean

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

help: ## list these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

setup: $(STAMP) ## make .venv with everything the other commands need

demo: $(STAMP) ## score 50,000 real flights on a real local Kafka, and check the result
	$(BIN)/pelton demo

test: $(STAMP) lint types ## lint, check types, run every test
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

chaos: $(STAMP) ## kill storms for hours and generated faults, more than `make test` has time for
	PELTON_CHAOS=1 $(BIN)/pytest -m chaos

interop: $(STAMP) ## callers in other languages ask a served model; needs Java 17 and Maven
	$(BIN)/pytest -m interop tests/interop

lint: $(STAMP) ## ruff: style and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMP) ## mypy, strict, over every room
	$(BIN)/python tests/check_types.py

bench: $(STAMP) ## Pelton beside a hand-written loop, in one run
	$(BIN)/python -m benchmarks.run

docs: $(STAMP) ## write the generated documents again (wire schemas, metrics, settings, dashboard)
	$(BIN)/python docs/generate.py
	PYTHONPATH=deploy $(BIN)/python -m dashboard

check-deploy: $(STAMP) ## check deploy/ with the tools it needs
	bash deploy/check.sh

audit: $(STAMP) ## ask what is known against the distributions that ship; fails when nobody answers
	$(BIN)/pip install --quiet 'pip-audit>=2.9'
	$(BIN)/python deploy/audit.py $(AUDIT)

sbom: $(STAMP) ## write build/sbom.cdx.json, the bill of materials of what ships
	$(BIN)/pip install --quiet 'cyclonedx-bom>=7.0'
	$(BIN)/python deploy/sbom.py

clean: ## remove what the other commands made
	rm -rf .venv .types .pelton build dist *.egg-info
