# Every command sets up what it needs: a virtual environment in .venv, with the versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: help install study results test test-long test-release alone check coverage bench serve docs dist test-deps soak client-types clean

help:
	@echo "make study      run a small study on embedded data and write its report to out/study"
	@echo "make results    run every published study again and put its tables and figures into docs/results (an hour)"
	@echo "make test       lint, types, layers and all tests"
	@echo "make soak       what takes longer: 1,300 crashes and 100,000 fuzzed calls; a second call goes on; writes out/soak"
	@echo "make coverage   all tests, and how much of the package they reach"
	@echo "make docs       the site, from docs/ to out/site"
	@echo "make dist       sdist and wheel in dist, checked"
	@echo "make test-long  make soak, make alone, and: install into empty environments, run the container's steps, uv, a consumer's mypy"
	@echo "make alone      install each extra by itself and run what it is for (network)"
	@echo "make bench      measure speed beside other packages; writes out/bench"
	@echo "make serve      start the service on http://127.0.0.1:8000"
	@echo "make check      lint, types and layers only"
	@echo "make client-types  the JavaScript client's types, anew from the routes"
	@echo "make test-deps  install the system packages that some tests need (Debian, as root)"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip -c constraints.txt

$(VENV)/.%: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[$*]"
	@touch $@

install: $(VENV)/.study

study: $(VENV)/.study
	$(BIN)/conquer study --preset small --jobs $(JOBS) --out out/study

# Every published review study: each resumes in out/, and a finished one is only reported again.
DATA ?= ../shared/data
# VECTORS=vectors.npz: what examples/sentence_vectors made of the arguments, for the lines about vectors.
STUDY = $(BIN)/conquer study --jobs $(JOBS)
BOTH = --preset paper --readings paper,ours

results: $(VENV)/.study
	$(STUDY) --preset small --out out/study --publish docs/results/small
	$(STUDY) --data $(DATA)/reviews --preset paper --readings paper,margin,ours --out out/reviews --publish docs/results/reviews
	$(STUDY) --data $(DATA)/reviews $(BOTH) --algorithms gnc,random --passes 3 --repetitions 3 --out out/passes --publish docs/results/passes
	$(STUDY) --data $(DATA)/preferences/vader --judge raters $(BOTH) --out out/raters --publish docs/results/raters
	$(STUDY) $(BOTH) --out out/synthetic --publish docs/results/synthetic
	$(BIN)/python -m benchmarks.votes $(DATA)/votes $(if $(VECTORS),--vectors $(VECTORS)) --out out/votes --publish docs/results/votes
	$(BIN)/python -m benchmarks.crowds $(DATA)/votes --out out/votes --publish docs/results/votes

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: check $(VENV)/.serve
	$(BIN)/conquer warmup
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/pytest -q -n $(JOBS) --dist worksteal

test-long: soak alone test-release

# What a release promises: installs alone and with each extra, typed, and the Dockerfile's steps in a clean folder.
test-release: $(VENV)/.test dist
	$(BIN)/python -m tests.release

coverage: $(VENV)/.serve $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/pytest -q -n $(JOBS) --dist worksteal --cov --cov-report=term --cov-report=html:out/coverage

docs: $(VENV)/.docs
	$(BIN)/python docs/site.py
	$(BIN)/mkdocs build --quiet --strict --site-dir out/site

dist: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m build --quiet --no-isolation
	$(BIN)/twine check --strict dist/*

soak: $(VENV)/.serve $(VENV)/.test
	$(BIN)/conquer warmup
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.soak

# Each extra in a virtual environment of its own; `make alone EXTRAS="serve study"` tries only these.
alone: $(VENV)/.test
	$(BIN)/python -m tests.alone $(EXTRAS)

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks --out out/bench

serve: $(VENV)/.serve
	$(BIN)/conquer serve

# The types of the JavaScript client, after a route or a schema has changed.
client-types: $(VENV)/.serve
	$(BIN)/python clients/javascript/generate.py

TYPESCRIPT := 5.9.3
NODE_TOOLS := /usr/local/lib/conquer-tests

test-deps:
	@command -v apt-get >/dev/null || { echo "no apt-get here: tests with a browser, PostgreSQL or Node will be skipped"; exit 0; }; \
	missing=""; \
	command -v chromium >/dev/null || missing="$$missing chromium"; \
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$$missing postgresql"; \
	command -v node >/dev/null || missing="$$missing nodejs"; \
	command -v npm >/dev/null || missing="$$missing npm"; \
	[ -z "$$missing" ] || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } || exit 1; \
	grep -qs '"version": "$(TYPESCRIPT)"' $(NODE_TOOLS)/node_modules/typescript/package.json || npm install --silent --no-audit --no-fund --no-save --prefix $(NODE_TOOLS) typescript@$(TYPESCRIPT) \
		|| echo "no TypeScript compiler: the types of the JavaScript client will not be checked"

clean:
	rm -rf out build dist *.egg-info
