# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The execution environment as an image, built by ansible-builder and Debian's buildah: ``python -m publish.image``.

No container engine is needed: ``buildah --isolation chroot`` on a base of mmdebstrap. Both want root.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from publish import artifact

DEFINITION = artifact.PROJECT / "extensions" / "ee" / "execution-environment.yml"
IMAGE = "localhost/kafka-recovery-ee:test"
PROGRAMS = ("buildah", "mmdebstrap")
RELEASE = "bookworm"

_BASE = f"localhost/kafka-recovery-base:{RELEASE}"
_CACHE = artifact.PROJECT / ".cache" / "ee"
_PINS = artifact.PROJECT / "requirements" / "constraints.txt"
# git and a compiler are not needed: all packages are wheels.
_PACKAGES = ("ca-certificates", "python3", "python3-pip", "python3-venv")
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_PIP_CONFIG = """\
[global]
constraint = /etc/constraints.txt
cert = /etc/build-certificates.crt
root-user-action = ignore
"""
_CONTAINERFILE = ("--output-filename", "Containerfile")


def buildah(*arguments: str | Path) -> list[str]:
    """Return a command line of buildah on this project's own storage."""
    storage = ("--storage-driver", "vfs", "--root", str(_CACHE / "storage"), "--runroot", str(_CACHE / "run"))
    return ["buildah", *storage, *map(str, arguments)]


def isolated(command: Sequence[str]) -> list[str]:
    """Return a command line that runs another in its own mount namespace, so that its mounts end with it."""
    return ["unshare", "--mount", *command]


def build(scratch: Path) -> str:
    """Build the image below an empty directory, and return its name. Raises CalledProcessError."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        raise FileNotFoundError(f"apt-get install --no-install-recommends {' '.join(missing)}")
    _make_base(scratch)
    definition = scratch / DEFINITION.name
    definition.write_text(yaml.safe_dump(_on_the_base(artifact.build(scratch / "artifact")), width=1000))
    context = scratch / "context"
    builder = Path(sys.executable).with_name("ansible-builder")
    _run([str(builder), "create", "--file", str(definition), "--context", str(context), *_CONTAINERFILE])
    _run(isolated(buildah("bud", "--isolation", "chroot", "--tag", IMAGE, context)))
    return IMAGE


def _on_the_base(tarball: Path) -> dict[str, Any]:
    """Return the shipped definition with our base image, and with this collection instead of Galaxy's."""
    definition: dict[str, Any] = yaml.safe_load(DEFINITION.read_text(encoding="utf-8"))
    definition["images"]["base_image"]["name"] = _BASE
    collection = {"name": f"/build/artifact/{tarball.name}", "type": "file"}
    definition["dependencies"]["galaxy"] = {"collections": [collection]}
    definition["additional_build_files"] = [{"src": str(tarball), "dest": "artifact"}]
    return definition


def _make_base(scratch: Path) -> None:
    """Create the base image unless there is one with these packages and pins."""
    pinned = hashlib.sha256(_PINS.read_bytes() + repr(_PACKAGES).encode()).hexdigest()[:12]
    marker = _CACHE / f"base-{pinned}"
    if marker.is_file():
        return
    _CACHE.mkdir(parents=True, exist_ok=True)
    root = scratch / "root.tar"
    _run(
        isolated(
            [
                "mmdebstrap",
                "--variant=minbase",
                f"--include={','.join(_PACKAGES)}",
                # ansible-builder does not update the list of packages first.
                "--skip=cleanup/apt/lists",
                "--dpkgopt=force-unsafe-io",
                RELEASE,
                str(root),
            ]
        )
    )
    # ansible-builder takes no constraints, nor of this host's certificates, but pip can.
    config = scratch / "pip.conf"
    config.write_text(_PIP_CONFIG, encoding="utf-8")
    with tarfile.open(root, "a") as tar:
        tar.add(config, "./etc/pip.conf")
        tar.add(_PINS, "./etc/constraints.txt")
        tar.add(_CERTIFICATES.resolve(), "./etc/build-certificates.crt")
    container = subprocess.run(buildah("from", "scratch"), check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    _run(buildah("add", "--quiet", container, root, "/"))
    _run(buildah("commit", "--quiet", "--rm", container, _BASE))
    root.unlink()
    marker.touch()


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    _CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kafkaops-ee-", dir=_CACHE) as directory:
        print(build(Path(directory)))
