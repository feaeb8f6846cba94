# Two commands: `make demo` shows the main job, `make test` runs the tests. Both set up what they need.
VENV ?= .venv
PYTHON ?= python3
# Optional parts to install for the tests; "dev,llm" also builds llama.cpp, which takes minutes.
EXTRAS ?= dev
BIN = $(VENV)/bin

.PHONY: demo test check docs clean

demo: $(BIN)/asmevo-gate
	$(BIN)/python tools/demo.py

test: $(VENV)/.$(EXTRAS)
	$(BIN)/python -m pytest -n auto

# Lint, types, and generated files that must be fresh.
check: $(VENV)/.$(EXTRAS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/make_docs.py --check

docs: $(VENV)/.$(EXTRAS)
	$(BIN)/python tools/make_docs.py

$(BIN)/asmevo-gate: pyproject.toml
	sh tools/set_up.sh $(PYTHON) $(VENV) ""
	touch $@

$(VENV)/.$(EXTRAS): pyproject.toml
	sh tools/set_up.sh $(PYTHON) $(VENV) "$(EXTRAS)"
	touch $@

clean:
	rm -rf $(VENV) demo build *.egg-info
