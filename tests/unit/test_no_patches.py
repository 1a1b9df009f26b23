# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No test replaces an attribute of a module or class that it imports: fakes implement a port, or are arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]


def _patches(source: str) -> Iterator[str]:
    """Yield each attribute that a file sets or deletes, if it belongs to something imported or is named in a string."""
    tree = ast.parse(source)
    imported = {
        (each.asname or each.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for each in node.names
    }
    for node in ast.walk(tree):
        for owner in _changed_owners(node):
            if isinstance(owner, ast.Constant) or _first_name(owner) in imported:
                yield f"line {owner.lineno}: {ast.unparse(node).splitlines()[0]}"


def _changed_owners(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the objects of which a statement or a call changes an attribute."""
    match node:
        case ast.Call(func=ast.Name(id="setattr" | "delattr" | "patch"), args=[owner, *_]):
            yield owner
        case ast.Call(func=ast.Attribute(attr="setattr" | "delattr" | "patch" | "object"), args=[owner, *_]):
            yield owner
        case ast.Attribute(value=owner, ctx=ast.Store() | ast.Del()):
            yield owner


def _first_name(owner: ast.expr) -> str:
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return owner.id if isinstance(owner, ast.Name) else ""


def test_no_test_patches_what_it_imports() -> None:
    found = [
        f"{file.relative_to(_TESTS)}, {patch}"
        for file in sorted(_TESTS.rglob("*.py"))
        for patch in _patches(file.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "patch",
    [
        "import os\nmonkeypatch.setattr(os, 'fsync', fake)",
        "import os\nmonkeypatch.delattr(os, 'memfd_create')",
        "import botocore.auth\npatch.setattr(botocore.auth, 'now', fake)",
        "from package import module as name\nmonkeypatch.setattr(name, 'LIMIT', 3)",
        "from package.module import AClass\npatch.object(AClass, 'method')",
        "monkeypatch.setattr('package.module.LIMIT', 3)",
        "with patch('package.module.LIMIT', 3): pass",
        "from package import module\nmodule.LIMIT = 3",
    ],
)
def test_a_patch_is_found(patch: str) -> None:
    assert [*_patches(patch)]


@pytest.mark.parametrize(
    "allowed",
    [
        "cluster = FakeCluster()\nmonkeypatch.setattr(cluster, 'probe', fake)",
        "import os\nmonkeypatch.setenv('HOME', os.getcwd())",
        "import sys\nmonkeypatch.setitem(sys.modules, 'kafka', None)",
        "self.limit = 3",
    ],
)
def test_what_a_test_owns_may_be_changed(allowed: str) -> None:
    assert not [*_patches(allowed)]
