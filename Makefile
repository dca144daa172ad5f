# Every command sets up what it needs: a virtual environment in .venv, with the versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: help install study results test test-long test-release alone check coverage bench serve docs dist test-deps soak client-types clean

help:
	@echo "make study      run a small study on embedded data and write its report to out/study"
	@echo "make results    run every published study again and put its tables and figures into docs/results (three hours)"
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

# Every published study, table and figure: each resumes in out/, and a finished one is only reported again. The studies
# that decide the claims run ten repetitions, the other axes three; about three hours on two cores.
DATA ?= ../shared/data
DECISIVE ?= 10
OTHERS ?= 3
# VECTORS=vectors.npz: what examples/sentence_vectors made of the arguments, for the lines about vectors.
STUDY = $(BIN)/conquer study --jobs $(JOBS)
AXES = $(STUDY) --data $(DATA)/reviews --preset paper
UPDATES = --update coordinate,margin --algorithms paper,gnc-always
PARSE = $(BIN)/conquer parse study --jobs $(JOBS)
SIGN = $(BIN)/python -m conquer.study.published
UD = $(DATA)/treebanks/UD_
PLACES = docs/results

.PHONY: results-reviews results-others results-parsing results-boards
results: results-reviews results-others results-parsing results-boards

results-reviews: $(VENV)/.study
	$(AXES) --rounds training/20 --balance none,stars $(UPDATES) --repetitions $(DECISIVE) --out out/few --publish $(PLACES)/few
	$(AXES) --rounds training --balance stars $(UPDATES) --repetitions $(DECISIVE) --out out/many/balanced --publish $(PLACES)/many/balanced
	$(AXES) --rounds training --balance none $(UPDATES) --repetitions $(DECISIVE) --out out/many/found --publish $(PLACES)/many/found
	$(AXES) --rounds training/K --balance none,stars $(UPDATES) --repetitions $(OTHERS) --out out/axes/rounds
	$(AXES) --rounds training/20,training --update implicit --algorithms paper,gnc-always --repetitions $(OTHERS) --out out/axes/update
	$(AXES) --rounds training/20,training --features idf --update coordinate,margin --algorithms paper,gnc-always --repetitions $(OTHERS) --out out/axes/features
	$(AXES) --rounds training/20,training --tuning none,all --algorithms paper,gnc-always --repetitions $(OTHERS) --out out/axes/tuning
	$(BIN)/conquer measure claims out/few out/many/balanced out/many/found out/axes/rounds out/axes/update out/axes/features out/axes/tuning --out out/claims --publish $(PLACES)/claims
	$(AXES) --balance stars --update coordinate,margin --algorithms ttg,gnc,ttg-projected,gnc-projected --repetitions $(OTHERS) --out out/projection --publish $(PLACES)/projection

results-others: $(VENV)/.study
	$(STUDY) --preset small --out out/study --publish $(PLACES)/small
	$(STUDY) --preset paper --update coordinate,margin --algorithms gnc,gnc-always --repetitions $(OTHERS) --out out/synthetic --publish $(PLACES)/synthetic
	$(STUDY) --data $(DATA)/preferences/vader --judge raters --preset paper --rounds training/20,training --update coordinate,margin --repetitions $(OTHERS) --out out/raters --publish $(PLACES)/raters
	$(AXES) --rounds training --balance stars --algorithms gnc,random --passes 3 --repetitions $(OTHERS) --out out/passes --publish $(PLACES)/passes
	$(STUDY) --data $(DATA)/reviews --preset ours --features tfidf --domains electronics --items 5 --repetitions 5 \
		--algorithms ttg,gnr,gnt,gnw,random,pairucb,colstim,maxinp,twots,ndb,rank-breaking,preference-perceptron \
		--out out/rivals --publish $(PLACES)/rivals
	# The page of limits has prose around its tables: it is signed again if it has every line that the command prints.
	for kind in tfidf idf; do \
		$(BIN)/conquer measure limits $(DATA)/reviews --repetitions $(DECISIVE) --features $$kind > out/limits-$$kind.md && \
		! grep -vxFf $(PLACES)/limits/limits.md out/limits-$$kind.md || exit 1; \
	done
	$(SIGN) $(PLACES)/limits conquer.study.reviews.trials conquer measure limits ../shared/data/reviews --repetitions 10 --features tfidf
	$(BIN)/python -m benchmarks.votes $(DATA)/votes $(if $(VECTORS),--vectors $(VECTORS)) --out out/votes --publish $(PLACES)/votes
	$(BIN)/python -m benchmarks.crowds $(DATA)/votes --out out/crowds --publish $(PLACES)/crowds
	$(SIGN) $(PLACES)/crowds benchmarks.crowds python -m benchmarks.crowds $(DATA)/votes --out out/crowds --publish $(PLACES)/crowds

# One folder for each treebank: the pages, then a record of what made them.
define PARSED
	$(PARSE) --treebank $(UD)$(1) $(3) --out out/parsing/$(2)
	mkdir -p $(PLACES)/parsing/$(2)
	cp out/parsing/$(2)/report.md out/parsing/$(2)/table.csv out/parsing/$(2)/*.png $(PLACES)/parsing/$(2)/
	$(SIGN) $(PLACES)/parsing/$(2) conquer.study.parsing.run conquer parse study --treebank UD_$(1) $(3)
endef

results-parsing: $(VENV)/.study
	$(call PARSED,Afrikaans-AfriBooms,afrikaans,--passes 3)
	$(call PARSED,Gothic-PROIEL,gothic,--passes 3)
	$(call PARSED,English-EWT,ewt,--passes 3)

results-boards: $(VENV)/.study
	$(BIN)/python -m benchmarks.boards --votes $(DATA)/votes/llmfao/crowd-comparisons.csv.gz --out $(PLACES)/boards
	$(SIGN) $(PLACES)/boards benchmarks.boards python -m benchmarks.boards --votes $(DATA)/votes/llmfao/crowd-comparisons.csv.gz --out $(PLACES)/boards

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
