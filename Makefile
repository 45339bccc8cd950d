# Every target makes the virtual environment first if it is not there; `make` alone lists the targets.
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTHON ?=
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-oldest test-wheel ci bench peers fuzz torture campaign matrix conformance console console-check console-pictures docs dist sbom lint format types imports doctest nojit lock clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
		|| sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1: \2/p' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml requirements.lock requirements-java.lock tools/setup.sh
	@sh tools/setup.sh $(VENV)
	@touch $@

setup: $(STAMP) ## make the virtual environment .venv from the lock files
	@:

demo: $(STAMP) ## keep a 3-hop join over a real graph up to date on Spark, and watch it
	@$(BIN)/livejoin run examples/hop3/pipeline.toml --fresh

test: $(STAMP) ## run the whole test suite, in three processes
	@$(BIN)/python -m pytest --numprocesses 3 --dist loadgroup

test-oldest: ## run tests with the oldest versions that are allowed, in an environment of its own; TESTS=tests/plan
	@sh tools/test_oldest.sh $(TESTS)

test-wheel: ## run tests with the wheel in a fresh environment, and without src; PYTHON=python3.13 TESTS=tests/sql
	@sh tools/test_wheel.sh $(TESTS)

ci: ## run what CI runs: checks of the source, then all tests
	@.ci/run

bench: $(STAMP) ## measure on a sample; make bench DATA=soc-Epinions1.txt.gz for the real thing
	@$(BIN)/python -m benchmarks graph $(if $(DATA),--data $(DATA),--small)

peers: $(STAMP) ## build native peers by cargo and measure beside them; DATA=soc-Epinions1.txt.gz DBSP=1
	@$(BIN)/python -m benchmarks peers --build $(if $(DBSP),--dbsp) $(if $(DATA),--data $(DATA),--small)

fuzz: $(STAMP) ## run the property tests with new random cases; MINUTES=60 EXAMPLES=300
	@sh tools/fuzz.sh $(BIN)/python $(or $(MINUTES),10) $(or $(EXAMPLES),300)

torture: $(STAMP) ## cut calls off, damage files, feed odd data; MINUTES=60 CASES=300
	@sh tools/torture.sh $(BIN)/python $(or $(MINUTES),10) $(or $(CASES),300)

campaign: $(STAMP) ## kill pipelines on Spark, their servers, damage their files, at random moments; FAULTS=200 SEED=1 KIND=stores
	@PYTHONPATH=src:tests:tests/support:tests/checkpoint:tests/distributed $(BIN)/python tests/torture/stream_campaign.py $(or $(FAULTS),50) $(or $(SEED),1) $(KIND)

matrix: $(STAMP) ## run the same pipelines in one process, and in 1, 2, 4 and 7 cells, on local Spark and on a local cluster
	@PYTHONPATH=$(CURDIR)/src:$(CURDIR)/tests/support $(BIN)/python tests/support/cluster_matrix.py --master 'local[2]'
	@PYTHONPATH=$(CURDIR)/src:$(CURDIR)/tests/support $(BIN)/python tests/support/cluster_matrix.py

conformance: $(STAMP) ## ask a real Spark what every expression of the corpus means, and compare (some minutes)
	@PYTHONPATH=src:tests:tests/support $(BIN)/python tests/conformance/make.py
	@LIVEJOIN_CONFORMANCE=all $(BIN)/python -m pytest -q tests/conformance

console: ## build the console of the server from web/; needs Node 20 and npm
	@cd web && npm ci --silent --no-audit --no-fund && npx tsc --project . && node build.mjs

console-check: ## say whether the built console is what web/ gives; needs Node 20 and npm
	@cd web && npm ci --silent --no-audit --no-fund && npx tsc --project . && node build.mjs --check

console-pictures: $(STAMP) ## take the pictures of docs/console anew, each place, light and dark; needs Chromium
	@$(BIN)/python tools/console_pictures.py

docs: $(STAMP) ## build the manual of docs/ into build/manual; a broken link or a warning fails
	@sh tools/manual/build.sh $(BIN)/python build/manual

dist: $(STAMP) ## wheel and sdist in dist/, the same bytes each time, checked as a package index would
	@sh tools/dist.sh $(BIN)/python

sbom: $(STAMP) ## what an installation brings, with versions and licences, as CycloneDX in build/sbom.cdx.json
	@sh tools/sbom.sh $(BIN)/python

lint: $(STAMP)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/vulture

format: $(STAMP) ## format the source
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

types: $(STAMP)
	@$(BIN)/mypy

imports: $(STAMP)
	@$(BIN)/lint-imports --no-cache

doctest: $(STAMP)
	@$(BIN)/python -m pytest --quiet --doctest-modules src

nojit: $(STAMP)
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadgroup --quiet -m nojit \
		$$(grep --recursive --files-with-matches --include='test_*.py' nojit tests)

lock: $(STAMP) ## pin the newest versions that pyproject.toml allows
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/python -m uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 \
		--extra spark --extra postgres --extra delta --extra kafka --extra cloud --extra serve --extra mcp --extra notebook --extra ibis --extra docs --extra dev --no-annotate --custom-compile-command "make lock" -o requirements.lock

clean: ## remove the virtual environment, caches and what the demo wrote
	@rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache \
		spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
