# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check, without a network, whether this work tree can be released. ``python -m publish.release``.

1. The version is the same everywhere, and no documentation names a later one.
2. The changelog has a section for it, names every module, role and plugin, and no fragment waits.
3. The artifact has the same bytes twice, built in other directories and with another umask.
4. It installs from the tarball and from a git address, each by command and by requirements.yml, with the same files.
5. Of what is installed, ansible-doc describes every module and role.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from publish import artifact
from publish.artifact import PROJECT

_NAME = "kafkaops.recovery"
_VERSION_ADDED = re.compile(r"^\s*version_added: ['\"]?([\d.]+)", re.MULTILINE)
_FOLDERS = {"module": "modules", "callback": "callback", "lookup": "lookup"}
"""Kinds of plugins that a user can name, and where they are. An action belongs to the module of its name."""
_INTERNAL = {"role kafka_connection"}
_RELEASE_IN_README = re.compile(r"(?:version: v|kafkaops-recovery-)(\d+\.\d+\.\d+)")


class NotReadyError(Exception):
    """The work tree cannot be released. The message has one line for each reason."""


def main() -> int:
    """Check everything; return 1 if something is not ready."""
    try:
        version = check_version()
        check_changelog(version)
        with TemporaryDirectory(prefix="kafkaops-release-") as scratch:
            tarball = check_bytes(Path(scratch))
            check_installations(tarball, Path(scratch))
            size = tarball.stat().st_size // 1024
            digest = artifact.digest(tarball)
    except (NotReadyError, subprocess.CalledProcessError) as error:
        print(getattr(error, "stdout", None) or "", f"Not ready for a release: {error}", sep="\n")
        return 1
    print(f"{_NAME} {version} can be released: {tarball.name}, {size} KiB, sha256 {digest}.")
    return 0


def check_version() -> str:
    """Return the version of galaxy.yml. Raises NotReadyError for each place that has another one."""
    galaxy = yaml.safe_load((PROJECT / "galaxy.yml").read_text(encoding="utf-8"))
    version: str = galaxy["version"]
    wrong = [f"{place} has {found}, galaxy.yml has {version}" for place, found in _other_versions(version)]
    if wrong:
        raise NotReadyError("\n".join(wrong))
    return version


def _other_versions(version: str) -> Iterator[tuple[str, str]]:
    written = (PROJECT / "plugins/module_utils/_model/run.py").read_text(encoding="utf-8")
    if f'VERSION = "{version}"' not in written:
        yield "VERSION in plugins/module_utils/_model/run.py", "another version"
    for found in {*_RELEASE_IN_README.findall((PROJECT / "README.md").read_text(encoding="utf-8"))} - {version}:
        yield "README.md", found
    for path in (*PROJECT.glob("plugins/*/*.py"), *PROJECT.glob("roles/*/meta/argument_specs.yml")):
        for found in _VERSION_ADDED.findall(path.read_text(encoding="utf-8")):
            if _numbers(found) > _numbers(version):
                yield f"version_added in {path.relative_to(PROJECT)}", found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def check_changelog(version: str) -> None:
    """Check that nothing waits for the changelog, and that it has this version and all names. Raises NotReadyError."""
    if fragments := waiting(PROJECT / "changelogs" / "fragments"):
        raise NotReadyError(f"fragments are not in the changelog: {', '.join(fragments)}")
    source = PROJECT / "changelogs" / "changelog.yaml"
    releases = yaml.safe_load(source.read_text(encoding="utf-8"))["releases"] if source.is_file() else {}
    if version not in releases:
        raise NotReadyError(f"changelogs/changelog.yaml has no release {version}")
    if missing := unnamed(releases):
        raise NotReadyError(f"changelogs/changelog.yaml does not name {', '.join(missing)}")


def waiting(directory: Path) -> list[str]:
    """Return the fragments that antsibull-changelog would take up, with either extension."""
    return sorted(each.name for each in directory.glob("*.y*ml"))


def unnamed(releases: Mapping[str, Any]) -> list[str]:
    """Return the modules, roles and plugins that no release of the changelog names as new, such as ``role redundancy``.

    antsibull-changelog adds roles only if their entry point is ``main``.
    """
    named = {
        f"{kind} {each['name']}"
        for release in releases.values()
        for kind, entries in (
            ("module", release.get("modules", ())),
            *release.get("plugins", {}).items(),
            *release.get("objects", {}).items(),
        )
        for each in entries
    }
    files = {kind: PROJECT.glob(f"plugins/{folder}/[a-z]*.py") for kind, folder in _FOLDERS.items()}
    present = {f"{kind} {each.stem}" for kind, found in files.items() for each in found}
    present |= {f"role {each.name}" for each in (PROJECT / "roles").iterdir()} - _INTERNAL
    return sorted(present - named)


def check_bytes(scratch: Path) -> Path:
    """Build the artifact twice, and return the first one. Raises NotReadyError if they differ."""
    built = []
    for name, umask in (("first", 0o022), ("second-elsewhere", 0o077)):
        directory = scratch / name
        directory.mkdir()
        before = os.umask(umask)
        try:
            built.append(artifact.build(directory))
        finally:
            os.umask(before)
    if built[0].read_bytes() != built[1].read_bytes():
        raise NotReadyError("two builds of the same files differ")
    return built[0]


def check_installations(tarball: Path, scratch: Path) -> None:
    """Install the artifact in each way that README names, and compare the files. Raises NotReadyError."""
    repository = f"git+file://{_cloned(scratch)}"
    requirements = {
        "tarball": {"name": str(tarball), "type": "file"},
        "git": {"name": repository, "type": "git", "version": "HEAD"},
    }
    wanted = None
    for kind, requirement in requirements.items():
        file = scratch / f"{kind}.yml"
        file.write_text(yaml.safe_dump({"collections": [requirement]}), encoding="utf-8")
        for way, words in (("command", (requirement["name"],)), ("requirements", ("-r", str(file)))):
            target = scratch / f"{kind}-{way}"
            artifact.install(target, "--offline", *words)
            files = _files_of(target)
            wanted = files if wanted is None else wanted
            if files != wanted:
                differing = ", ".join(sorted({*files} ^ {*wanted})[:10]) or "same names, other contents"
                raise NotReadyError(f"installed from {kind} by {way}, the files differ: {differing}")
            check_documentation(target)


def check_documentation(collections: Path) -> None:
    """Check that ansible-doc describes all modules and roles of an installed copy. Raises NotReadyError."""
    copy = collections / "ansible_collections" / "kafkaops" / "recovery"
    for kind, names in (
        ("module", {each.stem for each in (copy / "plugins/modules").glob("*.py")} - {"__init__"}),
        ("role", {each.name for each in (copy / "roles").iterdir()}),
    ):
        program = str(Path(sys.executable).with_name("ansible-doc"))
        listed = subprocess.run(
            [program, "-t", kind, "--list", "--json", _NAME],
            check=True,
            capture_output=True,
            text=True,
            env=artifact.user_environment(collections),
            cwd=collections,
        ).stdout
        missing = names - {each.rpartition(".")[2] for each in json.loads(listed)}
        if missing:
            raise NotReadyError(f"ansible-doc does not list {kind}s: {', '.join(sorted(missing))}")


def _cloned(scratch: Path) -> Path:
    """Return a repository with one commit: the files of this work tree, without the history."""
    repository = scratch / "repository"
    artifact.copy_known_files(repository)
    author = ("-c", "user.name=release", "-c", "user.email=release@localhost", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "-A"), (*author, "commit", "-q", "-m", "Release")):
        subprocess.run(["git", "-C", str(repository), *words], check=True)
    return repository


def _files_of(collections: Path) -> dict[str, str | None]:
    """Return the digest of each file that an installed copy lists."""
    copy = collections / "ansible_collections" / "kafkaops" / "recovery"
    listed = json.loads((copy / "FILES.json").read_text(encoding="utf-8"))["files"]
    return {each["name"]: each["chksum_sha256"] for each in listed}


if __name__ == "__main__":
    sys.exit(main())
