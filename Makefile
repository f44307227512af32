# make setup, then make demo; make help lists the rest.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help screenshots setup demo test lint fmt types docs bench bench-fidelity bench-queues bench-search bench-tuner bench-what-if bench-load bench-workloads bench-web lock

help: ## What there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup: ## Make .venv with yarntune and fetch the embedded cluster's jars; does nothing the second time
	@$(PYTHON) deploy/setup.py

demo: setup ## Tune a real Spark job on a real YARN on this machine (about 5 minutes)
	@deploy/demo.sh

test: setup ## Run the tests, two files at a time
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: setup ## Check style, types, imports, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

fmt: setup ## Format the code and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: setup ## Check the types alone
	$(BIN)/mypy

screenshots: setup ## Take the pictures of docs/images with a Chromium
	$(BIN)/python -m tests.web.screenshots

docs: setup ## Write the generated pages of docs/
	$(BIN)/python -m tuner.cli.reference > docs/commands.md
	$(BIN)/python -m tuner.spark.params > docs/parameters.md
	$(BIN)/python -m rules.rulesets.catalogue > docs/rules.md
	$(BIN)/python -m workloads.plots docs/images
	$(BIN)/python -m rules.policy.reference > docs/policy.md
	$(BIN)/python -m web.api.reference > docs/api.md

bench: setup ## Run the benchmarks, which write benchmarks/*.md
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/eventlog.py

bench-fidelity: setup ## Hold the scheduler model against Hadoop's own schedulers, all cases
	$(BIN)/python -m benchmarks.fidelity

bench-queues: setup ## Hold the queue tuner against static and scheduled configurations, judged by Hadoop's schedulers
	$(BIN)/python -m benchmarks.queues

bench-search: setup ## Hold the job tuner's search against other optimizers on recorded runs (goes on where it was broken off)
	$(BIN)/python -m benchmarks.search

bench-tuner: setup ## Tune the six programs on the embedded cluster (about an hour, on a quiet machine; goes on where it was broken off)
	$(BIN)/python -m benchmarks.tuner

bench-load: setup ## Hold the choice by load against the best of an idle cluster, on a busy one (about 10 minutes, on a quiet machine)
	$(BIN)/python -m benchmarks.load

bench-what-if: setup ## Hold the what-if model against recorded runs (a minute, no cluster)
	$(BIN)/python -m benchmarks.what_if

bench-workloads: setup ## Hold reduced workloads against the traces (about 25 minutes; goes on where it was broken off)
	$(BIN)/python -m benchmarks.workloads

bench-web: setup ## Hold every page under load against its 150 ms (about 5 minutes, on a quiet machine)
	$(BIN)/python -m benchmarks.web

lock: ## Renew requirements.lock from pyproject.toml (needs uv)
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --extra dev --extra postgres \
		--python-version 3.11 pyproject.toml -o requirements.lock --upgrade --quiet
