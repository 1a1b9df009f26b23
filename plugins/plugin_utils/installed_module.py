# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A program that runs a module of this collection from the files that are installed on this host.

Ansible packs a module with all files that it imports, and Python compiles all of them in each run. The installed files
are the same, and Python keeps what it has compiled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_COLLECTIONS = "ansible_collections"
_PROGRAM = """\
import io, os, runpy, sys, types

# Neither the working directory nor that of this program: a file there could hide a library.
here = os.path.dirname(os.path.abspath(globals().get("__file__", "")))
sys.path = [each for each in sys.path if each not in ("", ".", here)]
# Where PyPI's package `ansible` is installed, it has collections of its own, and hides all others.
collections = types.ModuleType({package!r})
collections.__path__ = [{directory!r}]
sys.modules[{package!r}] = collections
sys.argv = [{module!r}]
sys.stdin = io.TextIOWrapper(io.BytesIO({arguments!r}))
runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
"""


def installed_module(name: str) -> Path:
    """Return the file of a module of this collection."""
    return Path(__file__).parents[1] / "modules" / f"{name}.py"


def program(name: str, arguments: Mapping[str, Any], encoder: type[json.JSONEncoder]) -> bytes:
    """Return the program. A module that is not packed reads its arguments from its standard input."""
    directory = next(each for each in Path(__file__).parents if each.name == _COLLECTIONS)
    text = _PROGRAM.format(
        package=_COLLECTIONS,
        directory=str(directory),
        module=f"{_COLLECTIONS}.kafkaops.recovery.plugins.modules.{name}",
        arguments=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, cls=encoder).encode(),
    )
    return text.encode()
