# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A public class has a name of its own, so that a reader who searches for it finds one."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

_PLUGINS = Path(__file__).parents[2] / "plugins"
_REQUIRED = frozenset({"ActionModule", "ModuleDocFragment"})
"""Ansible loads plugins by these names."""
_TWO_PAGES = frozenset({"Paragraph", "Table"})
"""A page for a terminal and a page of HTML have the same parts, and share no code: plugin_utils imports nothing."""
_TO_BE_RENAMED = frozenset({"Kind", "Reason", "Status", "Step", "View", "Pace"})
"""Only remove names here."""


def _files_by_class() -> dict[str, list[str]]:
    files: dict[str, list[str]] = defaultdict(list)
    for file in sorted(_PLUGINS.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(str(file.relative_to(_PLUGINS)))
    return files


def test_no_public_class_name_is_used_twice() -> None:
    twice = {name: files for name, files in _files_by_class().items() if len(files) > 1}
    assert twice.keys() - _REQUIRED - _TWO_PAGES - _TO_BE_RENAMED == set(), twice


def test_the_exceptions_are_still_needed() -> None:
    files = _files_by_class()
    assert {name for name in _TWO_PAGES | _TO_BE_RENAMED if len(files[name]) < 2} == set()
