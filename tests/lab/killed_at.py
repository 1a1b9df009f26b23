# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Disturb a module below a directory, so that tests cover every boundary.

Kill it right before its n-th change, or let its n-th sync to disk fail.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


_SYNC_HOOK = '''
"""Python runs this at its start. To be synced, files and directories are opened by os.open, which has no mode."""
import os, sys

_left = {number}

def _hook(event, arguments):
    global _left
    if event == "open":
        path, mode, _flags = arguments
        if mode is None and isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith({directory!r}):
            _left -= 1
            if _left == 0:
                raise OSError(5, os.strerror(5))

sys.addaudithook(_hook)
'''


def run_killed_at(
    number: int, directory: Path, scratch: Path, name: str, options: Mapping[str, object]
) -> dict[str, object] | None:
    """Run a module, and return its results, or None if it was killed at that change."""
    hook = _HOOK.format(number=number, directory=str(directory))
    process = _start_with(hook, scratch / f"hooks-{number}", name, options)
    if process.wait() == -signal.SIGKILL:
        process.communicate()
        return None
    return results(process)


def run_with_failed_sync(
    number: int, directory: Path, scratch: Path, name: str, options: Mapping[str, object]
) -> dict[str, Any]:
    """Run a module whose n-th sync to disk fails with EIO, and return its results."""
    hook = _SYNC_HOOK.format(number=number, directory=str(directory))
    return results(_start_with(hook, scratch / f"hooks-{number}", name, options))


def _start_with(hook: str, hooks: Path, name: str, options: Mapping[str, object]) -> subprocess.Popen[str]:
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(hook, encoding="utf-8")
    return start_module(name, options, python_path=hooks)
