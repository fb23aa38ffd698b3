# Everything runs in .venv, which is created on first use. Only Python and make are required.
PYTHON ?= python3
BIN := .venv/bin
# One thread per test process, since the processes share the cores. Compiled Python is kept between runs.
TEST_ENV := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 XLA_FLAGS="--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0"

.PHONY: demo test slow lint format bench guard torture reproduction readme pictures docs pages notebooks dist clean

# dependencies of users, then those of developers
.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	touch .venv/installed

.venv/ready: .venv/installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch .venv/ready

demo: .venv/installed
	$(BIN)/orthoreg demo --out demo

test: .venv/ready
	$(TEST_ENV) $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

slow: .venv/ready
	$(TEST_ENV) $(BIN)/python -m pytest -q -n 2 --dist worksteal -m slow

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/basedpyright

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# the speed of all parts, compared with peers and the limits of the machine: ten minutes
bench: .venv/ready
	$(BIN)/python -m benchmarks suite

# fails if a part is twice as slow as its record, relative to those limits
guard: .venv/ready
	$(BIN)/python -m benchmarks guard

# attacks on the promises of the package, at most an hour on two cores; writes docs/torture.md
torture: .venv/ready
	$(BIN)/python -m torture --minutes 60 --workers 2 --record

# one to two hours on two cores; an interrupted run resumes
reproduction: .venv/ready
	$(BIN)/python -m paper --out reproduction
	$(BIN)/python -m paper.update_pages reproduction
	$(BIN)/python -m paper extrapolation --out reproduction
	$(BIN)/python -m paper.update_pages reproduction

readme: .venv/ready
	$(BIN)/python docs/update_readme.py

# screenshots of reports for README and docs; needs Chromium
pictures: demo
	$(BIN)/python docs/update_pictures.py demo

# the static site, in site/
docs: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# write the output of code blocks into the pages
pages: .venv/ready
	$(BIN)/python docs/run_blocks.py --write $$(grep -lE '^```(python|bash)$$' docs/*.md docs/recipes/*.md)

# the examples as notebooks, in notebooks/
notebooks: .venv/ready
	mkdir -p notebooks
	for file in examples/*.py; do $(BIN)/jupytext --quiet --to ipynb --output notebooks/$$(basename $$file .py).ipynb $$file; done

# source and wheel, in dist/
dist: .venv/ready
	$(BIN)/python -m build --quiet

clean:
	rm -rf .venv demo site dist notebooks
