# Everything from a fresh clone: `make demo` shows the job, `make test` runs every check.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test lint docs paper bench clean

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@echo "Setting up .venv: once, a minute or two ..."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: install
	@$(BIN)/leastnoise demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# One process a core; a file's tests stay together, so that its engines and fixtures start once.
test: lint
	$(BIN)/python -m pytest -n auto --dist loadfile

# Every example in the docs and the README, executed.
docs: install
	$(BIN)/python -m pytest docs README.md

# Every figure of the paper, its numbers, and results.md; ONLY=taxi_maps makes one, QUICK=1 checks every claim in a minute.
paper: install
	$(BIN)/python paper

bench: install
	$(BIN)/python benchmarks

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
