# Everything runs in .venv, made on first use; stamps keep a rerun from installing again.
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.installed-core
DEV := $(VENV)/.installed-dev
DOCS := $(VENV)/.installed-docs
FRAMEWORKS := $(VENV)/.installed-frameworks
SITE ?= site
PRESET ?= quick
WORKERS ?= 2
BASIC := OPENBLAS_CORETYPE=Prescott NUMBA_CPU_NAME=generic
NUMERICAL := tests/flows/margin tests/flows/relu tests/flows/test_factored.py tests/flows/test_compiled.py tests/flows/test_mirror_flow.py \
	tests/flows/test_gradient_flow.py tests/limits tests/theory/test_margin_claims.py tests/theory/test_relu_claims.py
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Many processes import the same modules: each would compile them anew.
unexport PYTHONDONTWRITEBYTECODE
# What is never imported, three fifths of what is installed, need not be compiled to bytecode.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: reproduce test test-thorough test-kernels test-frameworks frameworks-installed lint docs docs-a11y report-a11y bench fuzz matrix sharpness numbers clean

reproduce: $(CORE)
	$(BIN)/biasflow reproduce --preset $(PRESET) --out report

# The fast set; and what takes longer: the whole mutation matrix, further examples, the gallery, larger figures.
test: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

test-thorough: $(DEV)
	$(BIN)/python -m pytest -m "thorough and not slow" -n $(WORKERS) --dist loadgroup

# The numerical tests once more, on kernels without AVX and FMA: other roundings, the same results. Numba keeps machine code by
# processor, so the two do not mix in its cache.
test-kernels: $(DEV)
	$(BIN)/python -m pytest -m slow tests/kernels
	$(BASIC) $(BIN)/python -m pytest -m "not slow" -n $(WORKERS) --dist loadgroup $(NUMERICAL)

# Probes of PyTorch, Flax and Keras networks, and the gallery's scripts for them, in an environment of their own: these packages are large,
# and nothing else needs them.
test-frameworks:
	$(MAKE) VENV=$(VENV)-frameworks frameworks-installed
	$(VENV)-frameworks/bin/python -m pytest -m frameworks tests/frameworks
	$(VENV)-frameworks/bin/python -m pytest -m "" tests/test_gallery.py -k probe_

frameworks-installed: $(FRAMEWORKS)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, in $(SITE): open $(SITE)/index.html. Warnings are errors; links inside it and what pages load are checked.
docs: $(DOCS)
	$(BIN)/python -m sphinx -n -W --keep-going -q -d build/doctrees docs $(SITE)
	$(BIN)/python docs/check_site.py $(SITE)

# An accessibility checker (axe-core, by npm) on its pages, or on the report, in a headless Chromium.
docs-a11y: docs
	$(BIN)/python docs/check_accessibility.py $(SITE)

report-a11y: reproduce
	$(BIN)/python docs/check_accessibility.py report

bench: $(DEV)
	$(BIN)/python benchmarks/run_all.py

matrix: $(DEV)
	$(BIN)/python tests/theory/print_matrix.py

# Every public function on bad, odd and extreme arguments; kept under .biasflow/fuzz, so that it can be interrupted.
fuzz: $(DEV)
	$(BIN)/python tests/fuzz/print_table.py --workers $(WORKERS)

sharpness: $(CORE)
	$(BIN)/biasflow falsify --out docs/sharpness.md

numbers: $(CORE)
	$(BIN)/biasflow numbers --out docs/reproduction.md

clean:
	rm -rf $(VENV) .biasflow report $(SITE) docs/claims docs/figures docs/gallery docs/_gallery docs/reference/names docs/project/c*.md docs/project/s*.md dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find src tests -type d -empty -delete

$(CORE): pyproject.toml | $(BIN)/python
	$(BIN)/python $(INSTALL) -e .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python $(INSTALL) -e ".[dev]"
	@touch $(CORE) $@

$(FRAMEWORKS): pyproject.toml | $(BIN)/python
	$(BIN)/python $(INSTALL) -e ".[dev,torch,flax,keras]"
	@touch $(CORE) $@

$(DOCS): pyproject.toml | $(BIN)/python
	$(BIN)/python $(INSTALL) -e ".[docs]"
	@touch $(CORE) $@

$(BIN)/python:
	@for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "creating $(VENV) with $$("$$python" --version)"; exec "$$python" -m venv $(VENV); \
	    fi; \
	done; \
	echo "biasflow needs Python 3.11 or later; found: $$(python3 --version 2>&1 || echo no python3). Try make PYTHON=/path/to/python" >&2; \
	exit 1
