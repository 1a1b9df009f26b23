# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tarball that ``ansible-galaxy collection build`` creates from the files that git knows."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
KEPT = ("meta", "plugins", "roles", "playbooks")
"""The directories that the collection needs. Packagers may remove the rest."""


def build(directory: Path) -> Path:
    """Build the tarball in ``directory``, and return its path. Raises CalledProcessError."""
    source = directory / "source"
    _copy_known_files(source)
    galaxy = Path(sys.executable).with_name("ansible-galaxy")
    # Its standard output is only the path.
    subprocess.run(
        [galaxy, "collection", "build", "--output-path", directory, source], check=True, stdout=subprocess.DEVNULL
    )
    (tarball,) = directory.glob("*.tar.gz")
    return tarball


def install(tarball: Path, collections: Path) -> None:
    """Install a tarball below ``collections``. Raises CalledProcessError."""
    galaxy = Path(sys.executable).with_name("ansible-galaxy")
    subprocess.run([galaxy, "collection", "install", "-p", collections, tarball], check=True, stdout=subprocess.DEVNULL)


def unpack_only_the_kept(tarball: Path, collections: Path) -> Path:
    """Unpack ``KEPT`` of a tarball below ``collections``, and return the collection's directory."""
    target = collections / "ansible_collections" / "kafkaops" / "recovery"
    target.mkdir(parents=True)
    with tarfile.open(tarball) as archive:
        members = [each for each in archive.getmembers() if each.name.partition("/")[0] in KEPT]
        archive.extractall(target, members, filter="data")
    return target


def _copy_known_files(target: Path) -> None:
    """Copy the files that git tracks or would add: a work tree may also have plans and reports of earlier runs."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    for name in filter(None, listed):
        if (PROJECT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, target / name)
