# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What holds for every role: its defaults are those that its argument specs have, and it connects like the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins import modules
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import Arguments
from unit.roles.role import CONNECTIONS, GROUPS, ROLES, SHARED, loaded, named_files, specs, tasks_of

CONNECTING = "kafka_connection"
EVERY_ROLE = sorted({each.name for each in ROLES.iterdir()} - {CONNECTING})
_INCLUDE, _IMPORT = "ansible.builtin.include_tasks", "ansible.builtin.import_tasks"


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_the_defaults_are_those_of_the_argument_specs(role: str) -> None:
    assert loaded(role, "defaults/main.yml") == {
        name: option["default"] for name, option in specs(role).items() if "default" in option
    }


def test_every_connection_option_of_the_modules_is_a_shared_variable_of_its_type() -> None:
    variables = {name.removeprefix("kafka_"): each for name, each in specs(CONNECTING).items()}
    assert variables.keys() == SHARED.keys()
    for name, variable in variables.items():
        each = SHARED[name]
        assert (variable["type"], variable.get("choices")) == (each["type"], each.get("choices"))
        assert bool(variable.get("no_log")) == bool(each.get("no_log"))
        assert "default" not in variable, "a default would override the value in kafka_command_config"


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_every_variable_carries_the_role_s_name(role: str) -> None:
    assert {name for name in specs(role) if not name.startswith(f"{role}_")} == set()


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_a_role_checks_its_variables_first_and_reads_only_what_that_returns(role: str) -> None:
    """A variable may be a string, and ``"false"`` is true for Jinja. Secrets are not in results, and are strings."""
    first = loaded(role, "tasks/main.yml")[0]
    assert first["kafkaops.recovery.role_variables"] == {"role": role}
    assert first["register"] == f"__{role}_checked"
    secrets = {name for name, each in specs(role).items() if each.get("no_log")}
    for path in [*(ROLES / role / "tasks").glob("*.yml"), *(ROLES / role / "vars").glob("*.yml")]:
        read = {
            name
            for text in _expressions(yaml.safe_load(path.read_text("utf-8")))
            for name in specs(role)
            if re.search(rf"(?<![\w'.]){name}\b(?!')", text)
        }
        assert read <= secrets, path


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_a_zero_is_handed_on(role: str) -> None:
    """``default(omit, true)`` leaves it out, so that the module cannot refuse it."""
    numbers = {name.removeprefix(f"{role}_") for name, each in specs(role).items() if each["type"] in {"int", "float"}}
    for path in (ROLES / role / "tasks").glob("*.yml"):
        omitted = re.findall(r"_checked\.options\.(\w+) \| default\(omit, true\)", path.read_text("utf-8"))
        assert not numbers & {*omitted}, path


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_the_path_of_a_file_that_imports_another_has_a_default(role: str) -> None:
    """To load the import, ansible-core 2.18 evaluates it once more, without results of tasks (`make test-ansible`)."""
    for path in [task[_INCLUDE] for task in tasks_of(role) if _INCLUDE in task]:
        texts = [(ROLES / role / "tasks" / each).read_text("utf-8") for each in named_files(role, path)]
        if re.search(r"\b__", path) and any(f"{_IMPORT}:" in each for each in texts):
            assert "default(" in path


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_the_connection_is_the_shared_one(role: str) -> None:
    """Each group of options that the role's modules take is given once, for all of them."""
    assert loaded(role, "meta/main.yml")["dependencies"] == [{"role": f"kafkaops.recovery.{CONNECTING}"}]
    tasks = tasks_of(role)
    names = {name for task in tasks for name in task}
    defaults = [task["module_defaults"] for task in tasks if "block" in task and "module_defaults" in task]
    groups = {group for group in CONNECTIONS if names & {f"kafkaops.recovery.{name}" for name in GROUPS[group]}}
    given = {name: value for each in defaults for name, value in each.items() if name in map(_key, CONNECTIONS)}
    # Only secrets are not in the result of the task that checks the variables.
    secrets = {"kafka": "__kafka_connection_secrets | combine(__{role}_checked.kafka)"}
    assert given == {
        _key(group): f"{{{{ {secrets.get(group, '__{role}_checked.' + group).format(role=role)} }}}}"
        for group in groups
    }


def test_the_secrets_of_a_connection_are_those_that_no_result_shows() -> None:
    described = specs(CONNECTING)
    secrets = {name for name, spec in described.items() if spec.get("no_log")}
    assert {f"kafka_{name}" for name in loaded(CONNECTING, "vars/main.yml")["__kafka_connection_secrets"]} == secrets


@pytest.mark.parametrize(("name", "arguments"), CONNECTIONS.values())
def test_every_connection_variable_reaches_the_modules(name: str, arguments: Arguments) -> None:
    variables = loaded(CONNECTING, "vars/main.yml")
    handed_on = variables[name]
    if isinstance(handed_on, str):
        assert handed_on == "{{ __kafka_connection_open | combine(__kafka_connection_secrets) }}"
        handed_on = variables["__kafka_connection_open"] | variables["__kafka_connection_secrets"]
    assert handed_on.keys() == arguments.argument_spec.keys()
    assert all(f"kafka_{name} |" in value for name, value in handed_on.items())


@pytest.mark.parametrize("group", CONNECTIONS)
def test_a_group_has_every_module_that_takes_its_options(group: str) -> None:
    wanted = CONNECTIONS[group][1].argument_spec.keys()
    taking = {name for name, options in _modules_options().items() if options.keys() >= wanted}
    assert set(GROUPS[group]) == taking


WITHOUT_A_PAGE = {"quorum_recovery"}
"""Their report is about one or two files of a few hosts: the printed text says all of it."""


@pytest.mark.parametrize(
    "role", [each for each in EVERY_ROLE if f"{each}_report_file" in specs(each) and each not in WITHOUT_A_PAGE]
)
def test_every_report_has_a_page_that_the_summary_names(role: str) -> None:
    assert specs(role)[f"{role}_report_html"]["type"] == "path"
    summaries = [
        arguments
        for task in tasks_of(role)
        for name, arguments in task.items()
        if name.endswith("_tables") and "page" in arguments
    ]
    (arguments,) = summaries
    assert f"__{role}_checked.report_html" in arguments["page"]["html"]
    assert arguments["page"].keys() == {"files", "html", "title"}


@pytest.mark.parametrize(("role", "found"), [("quorum_preflight", "voters"), ("readiness", "checks")])
def test_what_was_found_is_shown_where_only_the_report_could_not_be_written(role: str, found: str) -> None:
    """The module fails then, and returns all the same what it found."""
    (module,) = (each for each in tasks_of(role) if "failed_when" in each)
    assert module["failed_when"] == f"{module['register']}.{found} is not defined"
    (printed,) = (each for each in tasks_of(role) if any(name.endswith("_tables") for name in each))
    assert "when" not in printed


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_a_usual_run_skips_no_task_because_of_several_hosts(role: str) -> None:
    """What several hosts need is in a file of its own: a skipped task is noise in a terminal."""
    first = [task for task in tasks_of(role) if "one_host" in str(task.get("ansible.builtin.include_role"))]
    assert all("when" not in task for task in first)


def _modules_options() -> dict[str, Mapping[str, Any]]:
    every_module = {
        each.name: import_module(f"{modules.__name__}.{each.name}") for each in iter_modules(modules.__path__)
    }
    return {name: each.ARGUMENTS.argument_spec for name, each in every_module.items() if hasattr(each, "ARGUMENTS")}


def _expressions(value: Any) -> Iterator[str]:
    """Yield the Jinja expressions in a YAML file: in braces, and in conditions."""
    if isinstance(value, str):
        yield from re.findall(r"\{[{%].*?[%}]\}", value, re.DOTALL)
    elif isinstance(value, list):
        for each in value:
            yield from _expressions(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in ("when", "that", "until", "failed_when", "changed_when"):
                yield from map(str, each if isinstance(each, list) else [each])
            else:
                yield from _expressions(each)


def _key(group: str) -> str:
    return f"group/kafkaops.recovery.{group}"
