# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The artifact has the same bytes wherever it is built, and one version."""

from __future__ import annotations

import tarfile
from pathlib import Path

from publish import release


def test_two_builds_have_the_same_bytes_and_no_trace_of_the_builder(tmp_path: Path) -> None:
    tarball = release.check_bytes(tmp_path)
    with tarfile.open(tarball) as archive:
        members = archive.getmembers()
    assert [each.name for each in members[:2]] == ["MANIFEST.json", "FILES.json"]
    assert {(each.mtime, each.uid, each.gid, each.uname, each.gname) for each in members} == {(0, 0, 0, "", "")}
    assert {each.mode for each in members} == {0o644, 0o755}


def test_no_documentation_names_another_version() -> None:
    assert release.check_version()
