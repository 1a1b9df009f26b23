# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which package of module_utils may import which, and which modules need the standard library only.

These rules are the two tables in docs/architecture.md, and are read there. And no file is too long.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_MODULE_UTILS = _ROOT / "plugins" / "module_utils"
_DOCUMENT = _ROOT / "docs" / "architecture.md"
_COLLECTION = "ansible_collections.kafkaops.recovery"
_FILES = {".".join(file.relative_to(_MODULE_UTILS).with_suffix("").parts): file for file in _MODULE_UTILS.rglob("*.py")}


def _table(heading: str) -> dict[str, str]:
    """First and last column of the table below a heading, by the names in backticks of the first."""
    section = _DOCUMENT.read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {name: row[-1] for row in rows for name in re.findall(r"`([\w.]+)`", row[0])}


_MAY_IMPORT = {package: set(re.findall(r"`(\w+)`", cell)) for package, cell in _table("Packages").items()}
_STANDARD_LIBRARY_ONLY = set(_table("Standard library only"))


def _internal(module: str, tree: ast.Module) -> Iterator[str]:
    """Every module of module_utils that a module imports, wherever in the file the import is."""
    package = module.split(".", maxsplit=1)[0]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = (package if node.level == 1 else "", node.module or "")
        path = ".".join(part for part in base if part)
        for name in node.names:
            yield f"{path}.{name.name}" if f"{path}.{name.name}" in _FILES else path


def _external(tree: ast.Module) -> Iterator[str]:
    """Every top-level package that a module imports from elsewhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


def _forbidden(module: str, source: str, allowed: Mapping[str, set[str]]) -> list[str]:
    """Return imports of one module that its package may not have, each as a line for a person."""
    package = module.split(".", maxsplit=1)[0]
    tree = ast.parse(source)
    wrong = [
        f"{module} imports {other}: {package} may import {sorted(allowed[package])}"
        for other in _internal(module, tree)
        if other.split(".")[0] not in allowed[package] | {package}
    ]
    wrong += [
        f"{module} imports {node.module} by its absolute name"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_COLLECTION)
    ]
    if package != "_module" and "ansible" in _external(tree):
        wrong.append(f"{module} imports ansible: only _module knows Ansible")
    return wrong


def test_the_table_names_every_package() -> None:
    assert set(_MAY_IMPORT) == {module.split(".")[0] for module in _FILES}


def test_a_package_imports_only_those_below_it_in_the_table() -> None:
    below: set[str] = set()
    for package, allowed in reversed(_MAY_IMPORT.items()):
        assert allowed <= below, f"{package} stands below {sorted(allowed - below)}"
        below.add(package)


def test_no_module_imports_what_its_package_may_not() -> None:
    wrong = [
        line for module, file in _FILES.items() for line in _forbidden(module, file.read_text("utf-8"), _MAY_IMPORT)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "forbidden",
    [
        "from .._leadership.orders import brokers_moved_last",
        "def late():\n    from .._cleaner import facts",
        f"from {_COLLECTION}.plugins.module_utils._model.run import utc_now",
        "from ansible.module_utils.basic import AnsibleModule",
    ],
)
def test_a_forbidden_import_is_found(forbidden: str) -> None:
    assert _forbidden("_recovery.decide", forbidden, _MAY_IMPORT)


def test_modules_of_the_second_table_import_the_standard_library_only() -> None:
    assert set(_FILES) >= _STANDARD_LIBRARY_ONLY
    saying_so = {module for module, file in _FILES.items() if "standard library only" in _describe(file).lower()}
    wrong = {
        f"{module}: {name}"
        for module in _STANDARD_LIBRARY_ONLY | saying_so
        for name in _all_external(module)
        if name not in sys.stdlib_module_names
    }
    assert not wrong


def _describe(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""


def _all_external(module: str) -> set[str]:
    """External packages of a module and of every module that it imports, in turn."""
    seen: set[str] = set()
    left, found = [module], set()
    while left:
        each = left.pop()
        if each not in seen:
            seen.add(each)
            tree = ast.parse(_FILES[each].read_text("utf-8"))
            found |= set(_external(tree))
            left += _internal(each, tree)
    return found


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    imports = {module: set(_internal(module, ast.parse(file.read_text("utf-8")))) for module, file in _FILES.items()}
    while free := {module for module, others in imports.items() if not others & imports.keys() - {module}}:
        imports = {module: others for module, others in imports.items() if module not in free}
    assert not imports, f"in a circle, or on the way to one: {sorted(imports)}"


_MOST_LINES = 400


def test_a_file_can_be_read_in_one_sitting() -> None:
    files = [each for part in ("plugins", "roles", "playbooks", "tests") for each in (_ROOT / part).rglob("*.py")]
    lengths = {str(each.relative_to(_ROOT)): each.read_text(encoding="utf-8").count("\n") for each in files}
    assert {name: lines for name, lines in lengths.items() if lines > _MOST_LINES} == {}
