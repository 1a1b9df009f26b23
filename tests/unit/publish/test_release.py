# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The artifact has the same bytes wherever it is built, one version, and a changelog that names all that is in it."""

from __future__ import annotations

import copy
import tarfile
from pathlib import Path

import yaml

from publish import release
from publish.artifact import PROJECT


def test_two_builds_have_the_same_bytes_and_no_trace_of_the_builder(tmp_path: Path) -> None:
    tarball = release.check_bytes(tmp_path)
    with tarfile.open(tarball) as archive:
        members = archive.getmembers()
    assert [each.name for each in members[:2]] == ["MANIFEST.json", "FILES.json"]
    assert {(each.mtime, each.uid, each.gid, each.uname, each.gname) for each in members} == {(0, 0, 0, "", "")}
    assert {each.mode for each in members} == {0o644, 0o755}


def test_no_documentation_names_another_version() -> None:
    assert release.check_version()


def test_a_fragment_waits_whatever_its_extension(tmp_path: Path) -> None:
    for name in ("one.yml", "two.yaml", "README.md"):
        (tmp_path / name).touch()
    assert release.waiting(tmp_path) == ["one.yml", "two.yaml"]


def test_the_changelog_names_every_module_role_and_plugin() -> None:
    source = PROJECT / "changelogs" / "changelog.yaml"
    releases = yaml.safe_load(source.read_text(encoding="utf-8"))["releases"]
    assert release.unnamed(releases) == []

    less = copy.deepcopy(releases)
    of_first = less["1.0.0"]
    for entries in (of_first["modules"], of_first["objects"]["role"], of_first["plugins"]["lookup"]):
        del entries[0]
    # They may be new in a later release.
    later = {"1.1.0": {"objects": {"role": releases["1.0.0"]["objects"]["role"][:1]}}}
    assert release.unnamed(less | later) == ["lookup matching_hosts", "module cluster_recording"]
