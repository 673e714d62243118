# Everything from a fresh clone: `make demo` shows the job, `make test` runs every check.
PYTHON ?= python3
BIN := .venv/bin

# Bytecode of the library and of the tests is kept, even where a shell says otherwise: the tests start some hundred
# processes that import them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo quick test tests golden audit against-old lowest lint docs paper bench guard fuzz soak clean

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
	$(BIN)/mypy --config-file tests/mypy.ini
	$(BIN)/lint-imports

# While you work: all but what starts Spark or a browser, or is slow (see tests/slow_tests.txt). Some 4,700 tests in
# seven minutes of processor time, about four on two quiet cores; one file of tests is quicker (see CONTRIBUTING.md).
quick: lint
	$(BIN)/python -m pytest -n auto -m 'not spark and not browser and not slow'

# The tests, and beside them what reads the code; the last lines say how much of curator/ was reached: 95 % must be.
test: install
	@$(MAKE) --no-print-directory --jobs 2 lint tests

# Three processes for two cores, since tests wait for browsers, servers and clusters. A file's tests stay together, and
# all on Spark, so that engines and fixtures start once.
tests: install
	LEASTNOISE_REACHED=1 $(BIN)/python -m pytest -n $$(( ($$(nproc) * 3 + 1) / 2 )) --dist loadfile

# The fast tests on the lowest versions that pyproject.toml allows, in an environment of their own. What others
# deprecate is not asked there: an old library beside a new one warns.
lowest: install
	$(PYTHON) -m venv .lowest
	$(BIN)/python tests/support/lowest_versions.py > .lowest/requirements.txt
	.lowest/bin/python -m pip install --quiet --disable-pip-version-check --requirement .lowest/requirements.txt --editable .
	.lowest/bin/python -m pytest -n auto -W ignore::DeprecationWarning -m 'not spark and not browser and not slow' tests

# The pages as a site in site/, built strictly; and every example, notebook and link in them checked.
docs: install
	$(BIN)/mkdocs build --strict
	$(BIN)/python -m pytest docs README.md tests/test_docs.py

# Every figure of the paper, its numbers, and results.md, where their sources changed (about a quarter of an hour for all
# on two quiet cores); ONLY=taxi_maps makes one, QUICK=1 checks every claim in a minute.
paper: install
	$(BIN)/python paper

# Us beside the peers: ONLY=draws runs one, PEERS="opendp pydp" asks these only.
bench: install
	$(BIN)/python benchmarks

# The figures that no change may make worse, beside the kept ones, in benchmarks/guard.md (ten minutes); fails where an
# error is worse. Data from the folder LEASTNOISE_DATA. KEEP=1 keeps this run's figures.
guard: install
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/guard.py

# What users see, written anew: facts in tests/golden/*.json, sentences in tests/golden/__snapshots__ (two minutes). Review
# the diff in the commit that makes it. ONLY="queries draws" writes these files of facts alone.
golden: install
	$(BIN)/python tests/golden $(ONLY)
	$(BIN)/python -m pytest -q tests/golden --snapshot-update

# Every invariant of tests/invariants.toml broken in a copy of the sources, and its tests seen to fail (half an hour on two
# quiet cores); writes AUDIT.md. ONLY=budget breaks those whose sentence or file has this text.
audit: install
	$(BIN)/python tests/audit.py --page
	$(BIN)/python tests/audit.py --only '$(ONLY)'

# Random queries answered by the sources of before the redesign, in an environment of their own, and by today's: the same
# integers, claims, costs and refusals, but for differences that are meant. QUERIES=2000 asks more; FROM=500 asks others.
OLD_COMMIT := fd28fd00
QUERIES ?= 500
FROM ?= 0
against-old: install .old/$(OLD_COMMIT)
	$(BIN)/python tests/against_old.py --queries $(QUERIES) --from $(FROM)

.old/$(OLD_COMMIT):
	rm -rf .old && mkdir .old
	git archive $(OLD_COMMIT) | tar -x -C .old
	$(PYTHON) -m venv .old/.venv
	.old/.venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint .old/constraints.txt '.old[dev]'
	@touch $@

# A long search for anything that breaks, on two cores; says at the end how many cases it ran: make fuzz MINUTES=25
MINUTES ?= 10
fuzz: install
	LEASTNOISE_FUZZ_MINUTES=$(MINUTES) $(BIN)/python -m pytest -n 2 --dist worksteal tests/fuzz tests/engines/test_at_random.py

# Table, release, denoise, page, killed at every stage, on small disks; shows the kills by stage: make soak MINUTES=60
soak: install
	LEASTNOISE_SOAK_MINUTES=$(MINUTES) $(BIN)/python -m pytest -rP tests/soak

clean:
	rm -rf .venv .lowest .old benchmarks/.peers build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
