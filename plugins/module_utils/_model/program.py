# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run this collection's code in another Python process of this host, and find out whether one lives.

Standard library only.
"""

from __future__ import annotations

import os
from pathlib import Path

_NAMESPACE = "ansible_collections"
_HEAD = """\
import os, sys, types

# Neither the working directory nor that of this program: a file there could hide a library.
here = os.path.dirname(os.path.abspath(globals().get("__file__", "")))
sys.path = [each for each in sys.path if each not in ("", ".", here)]
# Where PyPI's package `ansible` is installed, it has collections of its own, and hides all others.
collections = types.ModuleType({package!r})
collections.__path__ = [{directory!r}]
sys.modules[{package!r}] = collections
"""


def import_root() -> Path:
    """Return the directory or the AnsiballZ zip file from which this collection is imported."""
    return next(parent for parent in Path(__file__).parents if parent.name == _NAMESPACE).parent


def program(body: str) -> str:
    """Return a program that imports this collection from where it is imported here, and then executes ``body``."""
    return _HEAD.format(package=_NAMESPACE, directory=str(import_root() / _NAMESPACE)) + body


def is_alive(pid: int) -> bool:
    """Return whether a process of this host and process namespace lives, also one that /proc hides (hidepid)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is another user's
    return True
