# Everything runs in .venv, which is made on first use; nothing else is needed but Python and make.
PYTHON ?= python3
BIN := .venv/bin
# one thread per test process: the processes share the cores. Compiled Python is kept between runs
TEST_ENV := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 XLA_FLAGS="--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0"

.PHONY: demo test slow lint format bench guard reproduction readme pictures docs pages notebooks dist clean

# what users have, and what developers have
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

# the speed of all parts beside peers and the limits of the machine, and the page: ten minutes
bench: .venv/ready
	$(BIN)/python -m benchmarks suite

# nothing may have become twice as slow as the record says, relative to those limits
guard: .venv/ready
	$(BIN)/python -m benchmarks guard

# an hour or two on two cores; a run that was stopped goes on where it was
reproduction: .venv/ready
	$(BIN)/python -m paper --out reproduction
	$(BIN)/python -m paper.update_pages reproduction
	$(BIN)/python -m paper extrapolation --out reproduction
	$(BIN)/python -m paper.update_pages reproduction

readme: .venv/ready
	$(BIN)/python docs/update_readme.py

# the pictures of reports in README and docs; needs Chromium
pictures: demo
	$(BIN)/python docs/update_pictures.py demo

# the static site, in site/
docs: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# what the code of pages prints, written into them
pages: .venv/ready
	$(BIN)/python docs/run_blocks.py --write $$(grep -lE '^```(python|bash)$$' docs/*.md docs/recipes/*.md)

# the examples as notebooks, in notebooks/
notebooks: .venv/ready
	mkdir -p notebooks
	for one in examples/*.py; do $(BIN)/jupytext --quiet --to ipynb --output notebooks/$$(basename $$one .py).ipynb $$one; done

# source and wheel, in dist/
dist: .venv/ready
	$(BIN)/python -m build --quiet

clean:
	rm -rf .venv demo site dist notebooks
