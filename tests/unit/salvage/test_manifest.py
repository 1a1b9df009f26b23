# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Manifests are validated, files are compared with them, and salvage directories are written safely."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.directory import (
    check_covers,
    check_destination,
    open_unfinished_salvage,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import (
    MANIFEST,
    HeldRecords,
    Manifest,
    SavedFrom,
    encode_manifest,
    find_file_problems,
    read_manifest,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.options import SalvageDirectoryError
from unit.salvage.saved import SAVED


def finished(target: Path) -> Manifest:
    with open_unfinished_salvage(str(target)) as directory:
        directory.records.mkdir()
        (directory.records / "part-0.parquet").write_bytes(b"content")
        (directory.records / "_SUCCESS").write_bytes(b"")
        origin = SavedFrom(1, ("d",), ("/var/lib/kafka",))
        held = HeldRecords(SAVED.topic, SAVED.partition, SAVED.ranges)
        manifest = Manifest(
            "s", "c", "2026-01-31T23:59:59Z", "host", "user", "1", (origin,), (held,), (SAVED,), directory.files()
        )
        directory.finish(manifest)
    return manifest


def test_write_and_read_again(tmp_path: Path) -> None:
    manifest = finished(tmp_path / "saved")
    assert read_manifest(str(tmp_path / "saved")) == manifest
    assert not find_file_problems(str(tmp_path / "saved"), manifest.files)
    names = sorted(path.name for path in tmp_path.rglob("*"))
    assert names == ["manifest.json", "part-0.parquet", "records", "saved"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content | {"schemaVersion": 2},
        lambda content: content | {"more": 1},
        lambda content: content | {"partitions": [content["partitions"][0] | {"records": -1}]},
        lambda content: content | {"files": [content["files"][0] | {"name": "../../etc/passwd"}]},
        lambda content: {name: value for name, value in content.items() if name != "clusterId"},
    ],
)
def test_an_invalid_manifest_is_refused(tmp_path: Path, edit: Any) -> None:
    path = tmp_path / MANIFEST
    content = json.loads(encode_manifest(finished(tmp_path / "saved")))
    path.write_text(json.dumps(edit(content)))
    with pytest.raises(DocumentError):
        read_manifest(str(tmp_path))


def test_a_changed_file_is_reported(tmp_path: Path) -> None:
    manifest = finished(tmp_path / "saved")
    (tmp_path / "saved/records/part-0.parquet").write_bytes(b"changed")
    (fault,) = find_file_problems(str(tmp_path / "saved"), manifest.files)
    assert "part-0.parquet is not the file that was saved" in fault
    (tmp_path / "saved/records/part-0.parquet").unlink()
    (fault,) = find_file_problems(str(tmp_path / "saved"), manifest.files)
    assert "could not be read" in fault


def test_a_failed_run_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(SalvageDirectoryError, match="No space left"), open_unfinished_salvage(str(tmp_path / "saved")):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_only_files_of_a_killed_salvage_are_removed(tmp_path: Path) -> None:
    left = tmp_path / "saved.unfinished"
    left.mkdir()
    (left / "kafkaops.recovery-salvage").touch()
    (left / "records").mkdir()
    (left / "records/part-1.parquet").write_bytes(b"half")
    assert [each.name for each in finished(tmp_path / "saved").files] == ["part-0.parquet"]
    foreign = tmp_path / "other.unfinished"
    foreign.mkdir()
    (foreign / "thesis.txt").touch()
    with pytest.raises(SalvageDirectoryError, match="was not made by a salvage"):
        finished(tmp_path / "other")
    assert (foreign / "thesis.txt").exists()


def test_two_runs_cannot_write_at_the_same_time(tmp_path: Path) -> None:
    with open_unfinished_salvage(str(tmp_path / "saved")), pytest.raises(SalvageDirectoryError, match="another run"):
        finished(tmp_path / "saved")
    finished(tmp_path / "saved")


@pytest.mark.parametrize("lacks", ["cluster", "topic", "offsets", "partition"])
def test_a_finished_salvage_that_lacks_records_is_refused(tmp_path: Path, lacks: str) -> None:
    manifest = finished(tmp_path / "saved")
    partition, topic_id, cluster_id = SAVED.topic_partition, SAVED.topic_id, manifest.cluster_id
    check_covers(manifest, "place", cluster_id, [(partition, topic_id, SAVED.ranges)])
    wanted = {
        "cluster": ("other", partition, topic_id, SAVED.ranges),
        "topic": (cluster_id, partition, "other", SAVED.ranges),
        "offsets": (cluster_id, partition, topic_id, (*SAVED.ranges, EpochRange(99, 1000, 1001))),
        "partition": (cluster_id, TopicPartition("other", 0), topic_id, SAVED.ranges),
    }
    cluster_id, partition, topic_id, ranges = wanted[lacks]
    with pytest.raises(SalvageDirectoryError, match=f"place holds another salvage, which lacks records of {partition}"):
        check_covers(manifest, "place", cluster_id, [(partition, topic_id, ranges)])


def test_impossible_destinations_are_refused(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(SalvageDirectoryError, match="is no finished salvage"):
        check_destination(str(tmp_path / "there"))
    with pytest.raises(SalvageDirectoryError, match="has no directory"):
        check_destination(str(tmp_path / "nowhere/saved"))
    (tmp_path / "link").symlink_to(tmp_path / "disk that is away")
    with pytest.raises(SalvageDirectoryError, match="is no finished salvage"):
        check_destination(str(tmp_path / "link"))
    with pytest.raises(SalvageDirectoryError, match="File name too long"):
        check_destination(str(tmp_path / ("s" * 250)))
    (tmp_path / "left.unfinished").symlink_to(tmp_path / "there")
    with pytest.raises(SalvageDirectoryError, match="was not made by a salvage"):
        check_destination(str(tmp_path / "left"))
    check_destination(str(tmp_path / "new"))
