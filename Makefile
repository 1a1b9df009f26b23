# Everything a person or CI does with this project. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PINS := requirements/constraints.txt
REQUIREMENTS := meta/ee-requirements.txt requirements/dev.txt
# Named by what is pinned, not dated: a checkout that only touches files installs nothing again.
INSTALLED := $(VENV)/.installed-$(shell cat $(PINS) $(REQUIREMENTS) | cksum | cut -d ' ' -f 1)
COLLECTION_LINK := $(VENV)/collections/ansible_collections/kafkaops/recovery

DOCS_VENV := .venv-docs
MUTANTS_VENV := .venv-mutants
MUTANTS_INSTALLED := $(MUTANTS_VENV)/.installed-$(shell cksum < requirements/mutants.txt | cut -d ' ' -f 1)
DOCS_INSTALLED := $(DOCS_VENV)/.installed-$(shell cksum < requirements/docs.txt | cut -d ' ' -f 1)

SESSION := ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark

# `make test` covers the newest and the oldest release that people run, `make test-all` every one that is supported.
KAFKA_VERSIONS := 4.3.1 3.9.2

# Given to make by test-all: also what takes long.
WIDE :=
# What precedes a command that needs no brokers.
BESIDE :=
# Tests of ansible-test whose rules `make lint` has, in the same versions or stricter; each would install an environment.
# Of pylint, those are ruff's PL and mypy's; with Ansible's own few rules, it takes five times as long as all that is left.
# And the import of every file alone.
ONLY_WIDE := changelog pep8 yamllint pylint import

TYPED := $(addprefix -p ,ansible_collections.kafkaops.recovery.plugins bench campaign demo everything integration lab processes publish simulator unit)

# What has to be there before anything is installed. A target hands its value down to everything that it depends on.
NEEDS := python java
demo test test-all integration molecule bench sanity: NEEDS := python java maven git

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
# Ansible refuses to start without UTF-8.
export LC_ALL := C.UTF-8
# Each of a run's many processes would compile all of our code again.
unexport PYTHONDONTWRITEBYTECODE
# lab, demo, bench, campaign and publish are packages in tests/; they use the collection as the modules do.
bench campaign campaign-results demo ee galaxy molecule outage-campaign release-check stop-campaign surveys: export PYTHONPATH := $(CURDIR)/tests:$(CURDIR)/$(VENV)/collections
# molecule writes an ansible.cfg of its own.
molecule: export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/$(VENV)/collections

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: prerequisites
prerequisites:
	@PYTHON='$(PYTHON)' .ci/prerequisites.sh $(NEEDS)

.PHONY: install
install: $(INSTALLED) ## Make .venv with the pinned dependencies and this collection in it

$(INSTALLED): | prerequisites
	$(PYTHON) -m venv --clear $(VENV)
	@# Python compiles what it imports; most of what is installed is never imported.
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint $(PINS) $(addprefix --requirement ,$(REQUIREMENTS))
	mkdir -p $(dir $(COLLECTION_LINK))
	ln -s ../../../.. $(COLLECTION_LINK)
	@# Spark starts in half the time with an archive of its classes. The first session would make it behind the user's back.
	PYTHONPATH=$(VENV)/collections $(BIN)/python -c 'from $(SESSION) import make_class_archive as make; make()'
	touch $@

.PHONY: demo
demo: install ## A real Kafka cluster loses its leaders and records, and gets them back
	$(BIN)/python -m demo

.PHONY: test
test: install ## Everything CI checks, on the Kafka versions above (docs/testing.md)
	@# What waits for brokers is first and takes longest. What needs none fills the cores beside it.
	+$(MAKE) --no-print-directory --keep-going --jobs=3 --output-sync=target BESIDE=nice integration unit molecule lint sanity galaxy demo

.PHONY: test-all
test-all: install ## All that there is, JOBS parts at a time; KEEP=yes runs nothing again that passed on an older commit
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m everything --jobs $(or $(JOBS),2) $(if $(KEEP),--keep) $(addprefix --only=,$(ONLY))

.PHONY: lint
lint: format-check ruff mypy yamllint ansible-lint changelog-lint docs-lint ## Formatter, linters, types, changelog and docs

.PHONY: format-check
format-check: install
	$(BIN)/ruff format --check .

.PHONY: ruff
ruff: install
	$(BIN)/ruff check .

.PHONY: mypy
mypy: install
	$(BESIDE) $(BIN)/mypy $(TYPED)

.PHONY: print-typed
print-typed:
	@echo '$(TYPED)'

.PHONY: yamllint
yamllint: install
	$(BIN)/yamllint --strict .

.PHONY: ansible-lint
ansible-lint: install
	PATH=$(CURDIR)/$(BIN):$$PATH $(BESIDE) ansible-lint

.PHONY: changelog-lint
changelog-lint: install
	$(BIN)/antsibull-changelog lint
	@# If they differ: antsibull-changelog generate
	$(BIN)/antsibull-changelog generate --output /dev/stdout | diff - CHANGELOG.md

.PHONY: docs-lint
docs-lint: install
	@# The documentation site has no pages of other collections: a reference to one ends nowhere.
	PATH=$(CURDIR)/$(BIN):$$PATH antsibull-docs lint-collection-docs --plugin-docs --skip-rstcheck --validate-collection-refs self --disallow-unknown-collection-refs .

.PHONY: sanity
sanity: install ## ansible-test sanity
	$(BESIDE) $(BIN)/python tests/sanity/run.py $(if $(WIDE),,$(addprefix --skip-test=,$(ONLY_WIDE)))

.PHONY: unit
unit: install ## Tests without brokers
	$(BESIDE) $(BIN)/python -m pytest tests/unit tests/processes --numprocesses=2 --dist=loadfile $(if $(WIDE),--hypothesis-profile=wide,-m "not wide")

.PHONY: integration
integration: install ## Tests on real brokers
	@# Much of the time is spent waiting for brokers to notice something: three at a time fill two cores beside molecule and demo.
	$(BIN)/python -m pytest tests/integration --ignore=tests/integration/kerberos --numprocesses=3 --dist=loadscope --no-loadscope-reorder --durations=40 $(if $(WIDE),--wide) $(addprefix --kafka-version=,$(KAFKA_VERSIONS))

.PHONY: kerberos
kerberos: install ## GSSAPI against a real KDC; wants Debian's krb5-kdc, krb5-admin-server, krb5-user, libkrb5-dev and faketime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(PINS) gssapi
	$(BIN)/python -m pytest tests/integration/kerberos

.PHONY: molecule
molecule: install ## The roles' scenarios on a real cluster
	# What a run left that was killed is not created again, and its cluster is gone.
	PATH=$(CURDIR)/$(BIN):$$PATH molecule reset --all
	PATH=$(CURDIR)/$(BIN):$$PATH molecule test --all

.PHONY: galaxy
galaxy: install ## Build the artifact for Galaxy, and check it with Galaxy's importer
	$(BIN)/python -m publish $(if $(WIDE),--lint)

.PHONY: release-check
release-check: install changelog-lint ## Whether this tree can be released: changelog, version, same bytes twice, installations; offline
	$(BIN)/python -m publish.release

.PHONY: test-ansible
test-ansible: install ## The artifact on ansible-core 2.18 to 2.21 and Python 3.11 to 3.13, which must be there, as must 3.9
	$(BIN)/python -m pytest tests/matrix

.PHONY: surveys
surveys: install ## Write AWX's surveys from the roles' argument specs
	$(BIN)/python -m publish.surveys

.PHONY: docs
docs: install $(DOCS_INSTALLED) ## The documentation site, offline; every warning is an error
	PYTHONPATH=$(CURDIR)/tests $(DOCS_VENV)/bin/python -m publish.site

$(DOCS_INSTALLED): | prerequisites
	$(PYTHON) -m venv --clear $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements/docs.txt
	touch $@

.PHONY: test-extensions
test-extensions: install ## What is in extensions/, with Debian's Prometheus, Alertmanager, node exporter and Chromium
	$(BIN)/python -m pytest tests/extensions

.PHONY: ee
ee: install ## The execution environment as an image, and a recovery by jobs in it; wants root, Debian's buildah and mmdebstrap
	$(BIN)/python -m publish.image
	$(BIN)/python -m pytest tests/ee

.PHONY: bench
bench: install ## The benchmarks, as ratios
	$(BIN)/python -m bench

.PHONY: campaign
campaign: install ## The fault campaign of docs/reliability.md: SEEDS trials of every kind of fault, 20 unless given, JOBS at a time
	$(BIN)/python -m campaign --seeds $(or $(SEEDS),20) --jobs $(or $(JOBS),1) --json campaign.json

.PHONY: outage-campaign
outage-campaign: install ## Random outages, and whether plans say what they cost: SEEDS outages of each setting, 5 unless given
	for options in "" "--snapshots" "--elr --snapshots" "--kafka-version 3.9.2"; do \
		$(BIN)/python -m campaign.outages --seeds $(or $(SEEDS),5) --json outages.json $$options || exit 1; \
	done

.PHONY: stop-campaign
stop-campaign: install ## Random sets of brokers that stop, and whether the gate says what happens: SEEDS of four sets, 20 unless given
	$(BIN)/python -m campaign.stops --seeds $(or $(SEEDS),20) --json stops.json

.PHONY: campaign-results
campaign-results: install ## Add what the three campaigns judged here to tests/campaign/results, and write docs/campaigns.md
	$(BIN)/python -m campaign.published

.PHONY: mutants
mutants: install $(MUTANTS_INSTALLED) ## Mutation testing of what decides and writes; ONLY=preconditions for one file
	PYTHONPATH=$(CURDIR)/tests $(MUTANTS_VENV)/bin/python -m mutation $(addprefix --only=,$(ONLY))

$(MUTANTS_INSTALLED): | prerequisites
	$(PYTHON) -m venv --clear $(MUTANTS_VENV)
	$(MUTANTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements/mutants.txt
	touch $@

.PHONY: format
format: install ## Rewrite the Python files in the project's format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

.PHONY: clean
clean: ## Remove what the targets made, .venv included
	rm -rf $(VENV) $(DOCS_VENV) $(MUTANTS_VENV) .cache .ansible .hypothesis .mypy_cache .pytest_cache .ruff_cache tests/output
	find . -name __pycache__ -prune -exec rm -rf {} +
