# Two commands: `make demo` shows the main job, `make test` runs the tests. Both set up what they need.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin

.PHONY: demo test check docs clean

demo: $(BIN)/asmevo-gate
	$(BIN)/python tools/demo.py

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto

# Lint, types, and generated files that must be fresh.
check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/make_docs.py --check

docs: $(VENV)/.dev
	$(BIN)/python tools/make_docs.py

$(BIN)/asmevo-gate: pyproject.toml
	sh tools/set_up.sh $(PYTHON) $(VENV) ""
	touch $@

$(VENV)/.dev: pyproject.toml
	sh tools/set_up.sh $(PYTHON) $(VENV) "dev"
	touch $@

clean:
	rm -rf $(VENV) demo build *.egg-info
