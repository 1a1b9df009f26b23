# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collection's code as one zip file, for Spark's workers to import. Standard library only."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

_NAMESPACE = "ansible_collections"
_MODULE_UTILS = PurePosixPath(_NAMESPACE, "kafkaops", "recovery", "plugins", "module_utils")


def code_for_workers(directory: Path) -> Path:
    """A zip file from which a Python worker can import this collection's module_utils.

    Inside an Ansible module that is the zip file the module itself runs from (AnsiballZ: the module, and whatever it
    imports). Elsewhere one is made in ``directory``.
    """
    root = _import_root(Path(__file__))
    return root if root.is_file() else _packed(root, directory / "kafkaops_recovery.zip")


def _import_root(file: Path) -> Path:
    """Where on sys.path this file was found: a directory, or an AnsiballZ zip file."""
    return next(parent for parent in file.parents if parent.name == _NAMESPACE).parent


def _packed(root: Path, archive: Path) -> Path:
    """Packages get an ``__init__.py``, as in AnsiballZ: a worker may have other collections installed that have one."""
    packages = {*_MODULE_UTILS.parents, _MODULE_UTILS} - {PurePosixPath(".")}
    with zipfile.ZipFile(archive, "w") as zipped:
        for file in sorted((root / _MODULE_UTILS).rglob("*.py")):
            name = PurePosixPath(file.relative_to(root).as_posix())
            packages |= {parent for parent in name.parents if parent != PurePosixPath(".")}
            zipped.write(file, str(name))
        for package in sorted(packages):
            zipped.writestr(str(package / "__init__.py"), "")
    return archive
