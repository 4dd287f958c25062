# Every target sets up .venv by itself: only python3 (>= 3.11) and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test harden lint bench readme clean

help:
	@echo "make demo   run the main job on a real and on a wide table, results in demo-run/"
	@echo "make test   lint, types and all tests"
	@echo "make lint   lint, format and types only"
	@echo "make harden thousands of damaged files, kills and hostile inputs, with a table of counts"
	@echo "make bench  measure the numbers of docs/benchmarks.md again"

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "kernelpath needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). Try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test,bench]'
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/kernelpath demo --out demo-run

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md docs src tests benchmarks examples tools

test: export OMP_NUM_THREADS = 1
test: export OPENBLAS_NUM_THREADS = 1
test: lint  # workers run beside each other, with one thread each
	$(BIN)/pytest -n auto -q
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q -n auto -m "not slow and not data" tests/alignment tests/path_kernels tests/properties

harden: export OMP_NUM_THREADS = 1
harden: export OPENBLAS_NUM_THREADS = 1
harden: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m hardening

bench: $(STAMP)
	$(BIN)/python benchmarks/run_all.py

readme: $(STAMP)
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/make_pictures.py

clean:
	rm -rf $(VENV) demo-run build dist .pytest_cache .mypy_cache .ruff_cache
