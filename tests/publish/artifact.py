# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tarball that ``ansible-galaxy collection build`` creates from the files that git knows."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
_FILES, _MANIFEST = "FILES.json", "MANIFEST.json"
KEPT = ("meta", "plugins", "roles", "playbooks")
"""The directories that the collection needs. Packagers may remove the rest."""


def build(directory: Path) -> Path:
    """Build the tarball in ``directory``, and return its path. Raises CalledProcessError.

    The same files always make the same bytes, whoever builds them, where and when.
    """
    source = directory / "source"
    copy_known_files(source)
    galaxy = Path(sys.executable).with_name("ansible-galaxy")
    # Its standard output is only the path.
    subprocess.run(
        [galaxy, "collection", "build", "--output-path", directory, source], check=True, stdout=subprocess.DEVNULL
    )
    (tarball,) = directory.glob("*.tar.gz")
    _make_reproducible(tarball)
    return tarball


def _make_reproducible(tarball: Path) -> None:
    """Write a tarball again, sorted, without owners, times and the builder's umask.

    ansible-galaxy lists the files in the order in which the file system returns them, with the times of the build.
    """
    with tarfile.open(tarball) as archive:
        members = {each.name: each for each in archive.getmembers()}
        contents = {name: archive.extractfile(each) for name, each in members.items()}
        data = {name: file.read() for name, file in contents.items() if file is not None}
    listed = json.loads(data[_FILES])
    listed["files"].sort(key=lambda each: each["name"])
    data[_FILES] = json.dumps(listed, indent=1).encode()
    manifest = json.loads(data[_MANIFEST])
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(data[_FILES]).hexdigest()
    data[_MANIFEST] = json.dumps(manifest, indent=1).encode()
    with (
        tarball.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        # ansible-galaxy reads the manifest first.
        for name in sorted(members, key=lambda each: (each != _MANIFEST, each != _FILES, each)):
            member, content = tarfile.TarInfo(name), data.get(name)
            member.type = tarfile.REGTYPE if content is not None else tarfile.DIRTYPE
            member.size = len(content or b"")
            is_program = content is None or members[name].mode & 0o100
            member.mode = 0o755 if is_program else 0o644
            archive.addfile(member, io.BytesIO(content) if content is not None else None)


def install(collections: Path, *words: str | Path) -> None:
    """Install a tarball, or what else ``words`` say to ansible-galaxy, below ``collections``.

    Raises CalledProcessError.
    """
    collections.mkdir(parents=True)
    galaxy = Path(sys.executable).with_name("ansible-galaxy")
    subprocess.run(
        [galaxy, "collection", "install", "-p", collections, *words],
        check=True,
        stdout=subprocess.DEVNULL,
        env=user_environment(collections),
        # Not where an ansible.cfg is.
        cwd=collections,
    )


def user_environment(collections: Path) -> dict[str, str]:
    """Return the environment of a user whose only collections are these.

    Ansible also looks along PYTHONPATH, and installs nothing that is there.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))}
    return {**inherited, "ANSIBLE_COLLECTIONS_PATH": str(collections)}


def unpack_only_the_kept(tarball: Path, collections: Path) -> Path:
    """Unpack ``KEPT`` of a tarball below ``collections``, and return the collection's directory."""
    target = collections / "ansible_collections" / "kafkaops" / "recovery"
    target.mkdir(parents=True)
    with tarfile.open(tarball) as archive:
        members = [each for each in archive.getmembers() if each.name.partition("/")[0] in KEPT]
        archive.extractall(target, members, filter="data")
    return target


def digest(tarball: Path) -> str:
    """Return the SHA-256 of a tarball."""
    return hashlib.sha256(tarball.read_bytes()).hexdigest()


def copy_known_files(target: Path) -> None:
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
