# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of AWX that PyPI has: its own credential injector, and the collection awx.awx, both without the rest."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from lab.playbook import PROJECT

AWX = PROJECT / "extensions" / "awx"
_CACHE = PROJECT / ".cache" / "awx"
_PINS = PROJECT / "requirements" / "constraints.txt"


def downloaded_collections() -> Path:
    """Return a collections directory with awx.awx, and only that, out of the package `ansible`."""
    target = _CACHE / "collections"
    wanted = "ansible_collections/awx/awx/"
    if not (target / wanted).is_dir():
        with tempfile.TemporaryDirectory() as scratch:
            _pip("download", "--no-deps", "--dest", scratch, "ansible")
            (wheel,) = Path(scratch).glob("ansible-*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(target, [each for each in archive.namelist() if each.startswith(wanted)])
    return target


def injector_path() -> Path:
    """Return a directory for sys.path with AWX's credential injector."""
    target = _CACHE / "injector"
    if not target.is_dir():
        _pip("install", "--no-deps", "--target", str(target), "awx-plugins-interfaces")
    return target


def _pip(command: str, *arguments: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check", "--constraint", str(_PINS))
    subprocess.run([sys.executable, "-m", "pip", command, *quiet, *arguments], check=True)
