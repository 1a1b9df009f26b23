# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every command in a document or header names a playbook that exists, and variables that its role takes."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.role_variables import checked
from unit.roles.role import ROLES, options

PROJECT = ROLES.parent
DOCUMENTS = [
    PROJECT / "README.md",
    *sorted((PROJECT / "docs").glob("*.md")),
    *sorted((PROJECT / "playbooks").glob("*.yml")),
    *sorted(ROLES.glob("*/README.md")),
    *sorted((PROJECT / "extensions").glob("*/README.md")),
]
_COMMAND = re.compile(r"(?:ansible-playbook (?:-i \S+ )?|`)kafkaops\.recovery\.(\w+)((?:[^\S\n]+[^\n`]*)?)")


def commands(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the playbook and the words of every command of a document."""
    text = re.sub(r"[ \t]*\\\n#?\s*", " ", path.read_text(encoding="utf-8"))
    for playbook, rest in _COMMAND.findall(text):
        if rest.strip().startswith("-"):
            yield playbook, shlex.split(rest, comments=True)


def role_of(playbook: str) -> str:
    (play,) = yaml.safe_load((PROJECT / "playbooks" / f"{playbook}.yml").read_text(encoding="utf-8"))
    (task,) = play["tasks"]
    return str(task["ansible.builtin.import_role"]["name"]).rpartition(".")[2]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda each: str(each.relative_to(PROJECT)))
def test_every_variable_of_a_command_is_taken_with_its_value(path: Path) -> None:
    for playbook, words in commands(path):
        role = role_of(playbook)
        known = options(role)
        for flag, word in itertools.pairwise(words):
            if flag == "-e" and not word.startswith(("{", "@")):
                name, equals, value = word.partition("=")
                assert equals, (playbook, word)
                # Ansible takes what comes after a space for another variable.
                assert len(word.split()) == 1, (playbook, word)
                assert name in known or name == f"{role}_hosts", (playbook, name)
                if name in known:
                    checked({name: known[name]}, {name: value}, str)


def test_commands_are_found() -> None:
    found = [each for path in DOCUMENTS for each in commands(path)]
    assert {playbook for playbook, _words in found} == {each.stem for each in (PROJECT / "playbooks").glob("*.yml")}
