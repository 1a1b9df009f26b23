# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a role says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION, CONTROLLERS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL

ROLES = Path(__file__).resolve().parents[3] / "roles"
CONNECTIONS = {
    "kafka": ("kafka_connection_options", CONNECTION),
    "controllers": ("kafka_connection_controllers", CONTROLLERS),
    "journal": ("kafka_connection_journal", JOURNAL),
}
"""The action groups whose options every role takes from kafka_connection: that role's variable, and the options."""
GROUPS = yaml.safe_load((ROLES.parent / "meta/runtime.yml").read_text("utf-8"))["action_groups"]
SHARED = {name: each for _variable, arguments in CONNECTIONS.values() for name, each in arguments.argument_spec.items()}


def loaded(role: str, name: str) -> Any:
    """One of the role's YAML files."""
    return yaml.safe_load((ROLES / role / name).read_text(encoding="utf-8"))


def own_options(role: str) -> set[str]:
    """Return the role's variables that no other role has."""
    return {*specs(role)}


def options(role: str) -> dict[str, dict[str, Any]]:
    """Return all variables of a role, as argument specs describe them: its own, and those that all roles share."""
    return specs(role) | specs("kafka_connection")


def specs(role: str) -> dict[str, dict[str, Any]]:
    """Return the variables of a role's own argument specs."""
    described: dict[str, dict[str, Any]]
    described = loaded(role, "meta/argument_specs.yml")["argument_specs"]["variables"]["options"]
    return described


def tasks_of(role: str) -> list[dict[str, Any]]:
    """Return all tasks of the role's main entry point and its blocks: in order, those of files that it may include."""
    return [*_in_file(role, "main.yml", set())]


def _in_file(role: str, name: str, seen: set[str]) -> Iterator[dict[str, Any]]:
    if name not in seen:
        seen.add(name)
        yield from _in_list(role, loaded(role, f"tasks/{name}"), seen)


def _in_list(role: str, tasks: Sequence[dict[str, Any]], seen: set[str]) -> Iterator[dict[str, Any]]:
    for task in tasks:
        yield task
        yield from _in_list(role, [*task.get("block", []), *task.get("always", [])], seen)
        if file := task.get("ansible.builtin.include_tasks") or task.get("ansible.builtin.import_tasks"):
            for each in named_files(role, file):
                yield from _in_file(role, each, seen)


def named_files(role: str, path: str) -> list[str]:
    """Return the files that the path of an include or import may be: one of several, or what a variable names."""
    named = [loaded(role, "vars/main.yml")[each] for each in re.findall(r"__\w+_(?:start|next)", path)]
    return re.findall(r"\w+\.yml", " ".join([path, *named]))
