# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collection as a user installs it: a virtual environment with the tarball from Galaxy."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from lab.playbook import PlaybookRun
from publish import artifact

_PINNED = ("--constraint", str(artifact.PROJECT / "requirements" / "constraints.txt"))
_INSTALL_TIMEOUT_S = 900


@dataclass(frozen=True)
class Installation:
    """A virtual environment with ansible-core, the collection and the requirements of its metadata."""

    directory: Path

    def run(self, playbook: str, variables: Mapping[str, object], *arguments: str) -> PlaybookRun:
        """Run one of the collection's playbooks, outside the project's directory."""
        ran = subprocess.run(
            [self._bin / "ansible-playbook", playbook, "-e", json.dumps(variables), *arguments],
            cwd=self.directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        return PlaybookRun(ran.returncode, ran.stdout)

    def output(self, *command: str) -> str:
        """Return the output of a command of the environment. Raises CalledProcessError."""
        ran = subprocess.run(
            [self._bin / command[0], *command[1:]],
            cwd=self.directory,
            env=self._environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=_INSTALL_TIMEOUT_S,
        )
        return ran.stdout

    @property
    def collections(self) -> Path:
        """The directory that ansible-core looks for collections in."""
        return self.directory / "collections"

    @property
    def _bin(self) -> Path:
        return self.directory / "venv" / "bin"

    @property
    def _environment(self) -> dict[str, str]:
        return {
            **artifact.user_environment(self.collections),
            "ANSIBLE_HOME": str(self.directory / "ansible"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_SHOW_CUSTOM_STATS": "true",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            "LC_ALL": "C.UTF-8",
        }


@contextmanager
def installed(python: str, ansible_core: str = "", *, only_the_kept: bool = False) -> Iterator[Installation]:
    """Make an installation, and remove it in the end.

    Args:
        python: the interpreter, such as ``python3.12``.
        ansible_core: the release line, such as ``2.20``; the pinned release unless given.
        only_the_kept: leave only ``artifact.KEPT`` of the collection, as packagers may.
    """
    with TemporaryDirectory(prefix="kafkaops-installed-") as scratch:
        installation = Installation(Path(scratch))
        subprocess.run([python, "-m", "venv", installation.directory / "venv"], check=True)
        # The pins belong to the pinned ansible-core.
        _pip(installation, *([f"ansible-core=={ansible_core}.*"] if ansible_core else [*_PINNED, "ansible-core"]))
        tarball = artifact.build(installation.directory)
        if only_the_kept:
            collection = artifact.unpack_only_the_kept(tarball, installation.collections)
        else:
            installation.output(
                "ansible-galaxy", "collection", "install", "-p", str(installation.collections), str(tarball)
            )
            collection = installation.collections / "ansible_collections" / "kafkaops" / "recovery"
        _pip(installation, *([] if ansible_core else _PINNED), "--requirement", str(_requirements(collection)))
        yield installation


def interpreter(version: str) -> str:
    """Return a Python of a release line such as ``3.12``, on the PATH or of pyenv. Raises FileNotFoundError.

    pyenv puts a command on the PATH for each version that it has, and it fails for those that are not switched on.
    """
    of_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for candidate in [f"python{version}", *map(str, of_pyenv)]:
        with suppress(FileNotFoundError, subprocess.CalledProcessError):
            subprocess.run([candidate, "-m", "venv", "--help"], check=True, capture_output=True)
            return candidate
    raise FileNotFoundError(f"There is no working python{version}: install it, for instance with pyenv or uv.")


def _requirements(collection: Path) -> Path:
    """Return the one requirements file that the collection's metadata names, as ansible-builder finds it."""
    described = yaml.safe_load((collection / "meta" / "execution-environment.yml").read_text(encoding="utf-8"))
    return collection / str(described["dependencies"]["python"])


def _pip(installation: Installation, *arguments: str) -> None:
    installation.output("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)
