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


def _files_by_class() -> dict[str, list[str]]:
    files: dict[str, list[str]] = defaultdict(list)
    for file in sorted(_PLUGINS.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(str(file.relative_to(_PLUGINS)))
    return files


def test_no_public_class_name_is_used_twice() -> None:
    twice = {name: files for name, files in _files_by_class().items() if len(files) > 1}
    assert twice.keys() == _REQUIRED, twice
