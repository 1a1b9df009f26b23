# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is printed names a playbook as it is typed: with its collection."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAYBOOKS = sorted((each.stem for each in (ROOT / "playbooks").glob("*.yml")), key=len, reverse=True)
BARE = re.compile(rf"(?<![\w./])(?:{'|'.join(PLAYBOOKS)})(?![\w./])")
"""Not a part of a path or of another name."""
_DOCUMENTATION = {"DOCUMENTATION", "EXAMPLES", "RETURN"}
"""Modules and playbooks may have the same name: documentation has the module's."""


@pytest.mark.parametrize(
    "source", sorted((ROOT / "plugins").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_text_names_a_playbook_without_its_collection(source: Path) -> None:
    assert [*_bare_names(ast.parse(source.read_text(encoding="utf-8")))] == []


def _bare_names(tree: ast.Module) -> Iterator[str]:
    """Return the names in texts that are printed. A text that is nothing but a name is a key."""
    silent = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    silent |= {
        id(each.value) for each in tree.body if isinstance(each, ast.Assign) and _names_of(each) & _DOCUMENTATION
    }
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in silent:
            yield from (found.group() for found in BARE.finditer(each.value) if found.group() != each.value)


def _names_of(assignment: ast.Assign) -> set[str]:
    return {each.id for each in assignment.targets if isinstance(each, ast.Name)}
