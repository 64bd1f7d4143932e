# make demo   the best policies of the option for seven risk aversions, measured against the optimum, and a figure
# make test   run the tests
# make bench  ratios against a C loop (needs cc) and Stable-Baselines3 (installs torch)
# make check  formatting, lint, types

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# A tested set of versions; `make CONSTRAINTS= test` takes the newest that pyproject.toml allows.
CONSTRAINTS ?= constraints.txt
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))

.PHONY: demo test bench check clean

demo: $(VENV)/.plot
	$(BIN)/fenchel frontier option --figure demo.png

# TESTS: what to say to pytest besides, such as TESTS="-m 'not slow'".
test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal $(TESTS)

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fenchel needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# torch by itself first: TORCH may name another build, or options of pip for one.
TORCH ?= torch
$(VENV)/.bench: $(VENV)/.plot
	$(PIP) $(TORCH)
	$(PIP) --editable '.[plot,bench]'
	@touch $@

# One stamp per set of extras; pyproject.toml and the constraints decide when it is stale.
$(VENV)/.%: $(VENV)/bin/python pyproject.toml $(CONSTRAINTS)
	$(PIP) --editable '.[$*]'
	@touch $@

clean:
	rm -rf $(VENV) build dist benchmarks/build demo.png
