# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths and URIs of salvage directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.options import (
    SalvageDirectoryError,
    resolve_place,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import is_uri


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("/var/tmp/saved", "/var/tmp/saved"),
        ("saved", str(Path.cwd() / "saved")),
        ("2026-01-31T10:30/saved", str(Path.cwd() / "2026-01-31T10:30/saved")),
        ("file:/var/tmp/saved/", "/var/tmp/saved"),
        ("file:///var/tmp/sa%20ved", "/var/tmp/sa ved"),
        ("file://localhost/var/tmp/saved", "/var/tmp/saved"),
        ("hdfs://namenode:8020/saved/", "hdfs://namenode:8020/saved"),
        ("s3a://bucket/incidents/saved", "s3a://bucket/incidents/saved"),
    ],
)
def test_a_path_or_uri_is_resolved(given: str, place: str) -> None:
    assert resolve_place(given) == place
    assert is_uri(place) == (given[0] in "hs" and ":/" in given)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("http://server/saved", "nothing can be written to http:"),
        ("har:///saved.har", "nothing can be written to har:"),
        ("file://other/saved", "names host other"),
        ("s3a://bucket/", "names no directory"),
        ("ftp://user:hunter2@server/saved", "holds a password"),
        ("https://user:hunter2@server/saved", "holds a password"),
        ("file://user:hunter2@server/saved", "holds a password"),
        ("s3a://key:hun/hunter2@bucket/saved", "holds a password"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused(given: str, why: str) -> None:
    with pytest.raises(SalvageDirectoryError, match=why) as refused:
        resolve_place(given)
    assert "hunter2" not in str(refused.value)
