# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No capability creates a directory in a log directory of Kafka: the broker would not start any more.

Measured on 4.3.1: "Found directory /data/salvage, 'salvage' is not in the form of topic-partition".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.trends import check_directory
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import why_no_directory
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.options import (
    read_recorder_dir,
    read_recordings,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.evidence import check_evidence_dir
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.directory import check_destination
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.options import resolve_place


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    (path / "meta.properties").write_text("node.id=1\n")
    return path


@pytest.mark.parametrize("below", ["saved", "orders-0/saved", "a/b/../c"])
def test_a_place_in_a_log_directory(log_dir: Path, below: str) -> None:
    assert f"{log_dir} is a log directory of Kafka" in why_no_directory(log_dir / below)


def test_a_link_into_a_log_directory(log_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(log_dir)
    assert why_no_directory(tmp_path / "link/saved")


def test_a_place_beside_a_log_directory(log_dir: Path) -> None:
    assert why_no_directory(log_dir.with_name("saved")) == ""
    assert why_no_directory("saved") == ""


@pytest.mark.parametrize("below", ["", "/recordings", "/a/b"])
def test_recordings_are_not_stored_in_a_file(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        KafkaOpsError, match=f"recordings cannot be in {tmp_path}/file{below}: {tmp_path}/file is not a directory"
    ):
        read_recorder_dir(f"{tmp_path}/file{below}")
    assert read_recorder_dir(f"{tmp_path}/new/place") == f"{tmp_path}/new/place"


@pytest.mark.parametrize("place", ["/recordings/[old]", "hdfs://namenode/recordings/*"])
def test_recordings_are_not_in_what_spark_takes_for_a_pattern(place: str) -> None:
    """Spark would find no snapshot there, and a report would call all of them damaged."""
    for read in (read_recorder_dir, partial(read_recordings, by_spark=True)):
        with pytest.raises(KafkaOpsError, match="for a part of a pattern: name another place"):
            read(place)


@pytest.mark.parametrize(
    "check",
    [resolve_place, lambda place: check_evidence_dir(place, by_spark=True), read_recorder_dir, read_recordings],
    ids=["salvage", "evidence", "recordings", "recordings to read"],
)
def test_a_password_in_a_uri_is_refused_and_not_shown(check: Callable[[str], object]) -> None:
    for place in ("https://u:hunter2@h/x", "s3a://key:hunter2/hunter2@bucket/x", "file://u:hunter2@h/x"):
        with pytest.raises(KafkaOpsError, match="the URI holds a password") as refused:
            check(place)
        assert "hunter2" not in str(refused.value)
    check("hdfs://namenode:8020/saved/a@b")


@pytest.mark.parametrize(
    "check",
    [
        check_destination,
        lambda place: check_evidence_dir(place, by_spark=False),
        check_directory,
        read_recorder_dir,
    ],
    ids=["salvage", "evidence", "looks at log cleaners", "recordings"],
)
def test_it_is_refused_before_anything_is_done(log_dir: Path, check: Callable[[str], object]) -> None:
    with pytest.raises(KafkaOpsError, match="a broker does not start"):
        check(str(log_dir / "saved"))
    assert [each.name for each in log_dir.iterdir()] == ["meta.properties"]


@pytest.mark.parametrize(
    "check",
    [lambda place: check_evidence_dir(place, by_spark=True), read_recorder_dir],
    ids=["evidence", "recordings"],
)
@pytest.mark.parametrize("scheme", ["file:", "file://", "file://localhost"])
def test_a_uri_of_this_host_is_a_path_too(log_dir: Path, check: Callable[[str], object], scheme: str) -> None:
    with pytest.raises(KafkaOpsError, match="a broker does not start"):
        check(f"{scheme}{log_dir}/saved")
    check(f"{scheme}{log_dir.with_name('saved')}")
    check(f"hdfs://namenode{log_dir}/saved")
