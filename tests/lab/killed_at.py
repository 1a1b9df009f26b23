# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kill a module right before its n-th change below a directory, so that tests cover every boundary."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path

from lab.module_process import results, start_module

_HOOK = '''
"""Python runs this at its start. Changes are seen by audit events (PEP 578)."""
import os, signal, sys

_CHANGES = {{"os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"}}
_left = {number}

def _changes(event, arguments):
    if event == "open":
        path, _mode, flags = arguments
        return bool(flags & (os.O_WRONLY | os.O_RDWR)) and _is_below(path)
    return event in _CHANGES and any(map(_is_below, arguments))

def _is_below(path):
    return isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith({directory!r})

def _hook(event, arguments):
    global _left
    if _changes(event, arguments):
        _left -= 1
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(_hook)
'''


def run_killed_at(
    number: int, directory: Path, scratch: Path, name: str, options: Mapping[str, object]
) -> dict[str, object] | None:
    """Run a module, and return its results, or None if it was killed at that change."""
    hooks = scratch / f"hooks-{number}"
    hooks.mkdir()
    code = _HOOK.format(number=number, directory=str(directory))
    (hooks / "sitecustomize.py").write_text(code, encoding="utf-8")
    process = start_module(name, options, python_path=hooks)
    if process.wait() == -signal.SIGKILL:
        process.communicate()
        return None
    return results(process)
