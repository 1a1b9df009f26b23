# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Salvages of damaged disks and of wrong disks, and a comparison with Kafka's own reader."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import (
    LockedLogDirs,
    LogDirError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import (
    Batch,
    DamageKind,
    Segment,
    read_segment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import DiskFinding, SalvageStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.options import SalvageDirectoryError
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.writer import SalvageError
from integration.salvage.disks import copy_of_disks, read_rows, records, salvage, segments
from integration.salvage.oracle import CODECS, Oracle, in_short
from integration.salvage.wreck import (
    CLIENT_CODECS,
    LAST_LEADER,
    LEDGER,
    LONGER,
    PATIENT,
    PROPERTIES,
    SHORTER,
    wait_offline,
)
from integration.strategies.outages import wait_isr
from lab import Cluster, storage, wait_until
from lab.leadership import assign

_BATCH = re.compile(r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .*position: (\d+) .*size: (\d+) .*crc: (\d+)")
_LENGTH_AT, _PREFIX = 8, 12


@pytest.mark.wide
@pytest.mark.parametrize("on_spark", [False, True], ids=["here", "on Spark"])
def test_damages_are_reported_and_the_rest_is_saved(oracle: Oracle, tmp_path: Path, *, on_spark: bool) -> None:
    """Partition 0 lacks a segment, 1 has a torn last batch, 2 a flipped bit in the middle. There are no indexes."""
    disks = copy_of_disks(oracle.cluster, tmp_path)
    gap = _remove_a_segment(segments(disks, CLIENT_CODECS, 0))
    torn = _tear(segments(disks, CLIENT_CODECS, 1)[-1])
    flipped = _flip(segments(disks, CLIENT_CODECS, 2)[-1])
    done = salvage(oracle.cluster, tmp_path / "saved", log_dirs=disks, topics={CLIENT_CODECS}, on_spark=on_spark)
    findings = {each.partition: each for each in done.findings}
    assert {each.status for each in done.findings} == {SalvageStatus.SAVED}
    assert _unreadable(findings[0]) == [gap]
    (tear,) = findings[1].damages
    assert (tear.damage.kind, tear.damage.from_offset, tear.damage.to_offset) == (DamageKind.TORN_TAIL, torn[0], None)
    (flip,) = findings[2].damages
    assert (flip.damage.kind, flip.damage.from_offset, flip.damage.to_offset) == (DamageKind.CORRUPT, *flipped)
    assert _unreadable(findings[2]) == [flipped]
    absent = {0: gap, 1: torn, 2: flipped}
    expected = [
        each
        for each in oracle.of("lost", CLIENT_CODECS)
        if each.partition not in absent or not absent[each.partition][0] <= each.offset < absent[each.partition][1]
    ]
    assert in_short(records(read_rows(tmp_path / "saved"))) == in_short(expected)
    assert len(expected) < len(oracle.of("lost", CLIENT_CODECS))


@pytest.mark.wide
def test_what_cannot_be_opened_blocks_nothing_else(oracle: Oracle, tmp_path: Path) -> None:
    """A disk that refuses a directory or a file: a link to itself is refused in the same calls, with another error."""
    disks = copy_of_disks(oracle.cluster, tmp_path)
    directory = segments(disks, CLIENT_CODECS, 0)[0].parent
    file = segments(disks, CLIENT_CODECS, 1)[-1]
    shutil.rmtree(directory)
    file.unlink()
    for refused in (directory, file):
        refused.symlink_to(refused.name)
    done = salvage(oracle.cluster, tmp_path / "saved", log_dirs=disks, topics={CLIENT_CODECS})
    findings = {each.partition: each for each in done.findings}
    assert findings[0].status is SalvageStatus.FAILED
    assert f"{directory} could not be listed: Too many levels" in findings[0].reason
    assert f"{file} could not be read to its end: Too many levels" in findings[1].reason
    assert findings[1].status is SalvageStatus.FAILED, "the file may have records that nobody else has"
    unharmed = set(findings) - {0, 1}
    assert {findings[each].status for each in unharmed} == {SalvageStatus.SAVED}
    saved = [each for each in records(read_rows(tmp_path / "saved")) if each.partition in unharmed]
    assert in_short(saved) == in_short(
        [each for each in oracle.of("lost", CLIENT_CODECS) if each.partition in unharmed]
    )


@pytest.mark.wide
def test_a_log_directory_that_was_not_named_is_missed(oracle: Oracle, tmp_path: Path) -> None:
    disks = copy_of_disks(oracle.cluster, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(disks[0] / "meta.properties", other)
    moved = segments(disks, CLIENT_CODECS, 0)[0].parent
    moved.rename(other / moved.name)
    assert not salvage(oracle.cluster, tmp_path / "saved", log_dirs=[*disks, other], check_mode=True).notes
    (note,) = salvage(oracle.cluster, tmp_path / "saved", log_dirs=disks, check_mode=True).notes
    assert note.startswith(f"the cluster has replicas of {CLIENT_CODECS} 0 on broker {LAST_LEADER}, and these")


@pytest.mark.wide
def test_an_interrupted_swap_of_segments_hides_no_record(oracle: Oracle, tmp_path: Path) -> None:
    """The last two segments were replaced by one, and the broker died before the old names were gone."""
    disks = copy_of_disks(oracle.cluster, tmp_path)
    before, last = segments(disks, CLIENT_CODECS, 0)[-2:]
    before.with_suffix(".log.swap").write_bytes(before.read_bytes() + last.read_bytes())
    before.rename(before.with_suffix(".log.deleted"))
    done = salvage(oracle.cluster, tmp_path / "saved", log_dirs=disks, topics={CLIENT_CODECS})
    assert {each.status for each in done.findings} == {SalvageStatus.SAVED}
    assert in_short(records(read_rows(tmp_path / "saved"))) == in_short(oracle.of("lost", CLIENT_CODECS))


@pytest.mark.wide
def test_offsets_and_checksums_equal_those_of_kafkas_own_reader(oracle: Oracle) -> None:
    disks = oracle.cluster.brokers[LAST_LEADER].data_dirs
    files = [
        *(segments(disks, CLIENT_CODECS, partition)[-1] for partition in range(len(CODECS))),
        *segments(disks, LEDGER),
    ]
    dumped = oracle.cluster.client.run_tool(
        "kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(map(str, files))
    )
    assert dumped.returncode == 0, dumped.stderr
    theirs = [tuple(map(int, each)) for each in _BATCH.findall(dumped.stdout)]
    ours = []
    for path in files:
        with path.open("rb", buffering=0) as file:
            for found in read_segment(file, Segment(str(path), int(path.stem), path.stat().st_size)):
                assert isinstance(found, Batch)
                header = found.header
                place = (found.position, header.size, header.crc)
                ours.append((header.base_offset, header.next_offset - 1, header.record_count, *place))
    assert ours == theirs
    assert len(ours) > 50


def test_directories_of_a_running_broker_are_refused(oracle: Oracle, tmp_path: Path) -> None:
    running = oracle.cluster.brokers[LONGER].data_dirs
    with pytest.raises(LogDirError) as refused:
        salvage(oracle.cluster, tmp_path / "saved", log_dirs=running)
    assert str(refused.value).count("in use: a broker runs on it") == len(running)
    assert oracle.cluster.brokers[LONGER].running
    assert not list(tmp_path.iterdir())


@pytest.mark.wide
def test_a_broker_started_during_a_salvage_stops_before_it_truncates(oracle: Oracle) -> None:
    dead = oracle.cluster.brokers[LAST_LEADER]
    before = {path: path.read_bytes() for path in segments(dead.data_dirs, CLIENT_CODECS, 1)}
    with LockedLogDirs([str(each) for each in dead.data_dirs]) as held:
        assert (held.node_id, held.cluster_id) == (LAST_LEADER, oracle.cluster.cluster_id)
        dead.start(wait=False)
        try:
            wait_until(lambda: not dead.running, 60, what="the broker has stopped by itself")
        finally:
            dead.kill()
    assert "Failed to acquire lock on file .lock" in dead.log_path.read_text(errors="replace")
    assert {path: path.read_bytes() for path in segments(dead.data_dirs, CLIENT_CODECS, 1)} == before


def test_wrong_disks_are_refused(oracle: Oracle, tmp_path: Path) -> None:
    other, empty = tmp_path / "other", tmp_path / "empty"
    storage.format_broker(LAST_LEADER, storage.random_uuid(), [other])
    empty.mkdir()
    with pytest.raises(SalvageError, match="the disk is of cluster"):
        salvage(oracle.cluster, tmp_path / "saved", log_dirs=[other])
    with pytest.raises(LogDirError, match=r"it has no meta\.properties"):
        salvage(oracle.cluster, tmp_path / "saved", log_dirs=[empty])
    with pytest.raises(LogDirError, match="belong to 2 brokers"):
        salvage(oracle.cluster, tmp_path / "saved", log_dirs=[other, *oracle.cluster.brokers[LAST_LEADER].data_dirs])
    with pytest.raises(SalvageError, match="topic nowhere was not found"):
        salvage(oracle.cluster, tmp_path / "saved", topics={"nowhere"})
    with pytest.raises(SalvageDirectoryError, match="is no finished salvage"):
        salvage(oracle.cluster, empty)


def _unreadable(finding: DiskFinding) -> list[tuple[int, int]]:
    return [(each.start_offset, each.end_offset) for each in finding.unreadable]


def _batches(path: Path) -> list[Batch]:
    with path.open("rb", buffering=0) as file:
        return [
            each
            for each in read_segment(file, Segment(str(path), int(path.stem), path.stat().st_size))
            if isinstance(each, Batch)
        ]


def _remove_a_segment(paths: list[Path]) -> tuple[int, int]:
    """Remove the last segment but one, which has lost records only. Returns its offsets."""
    batches = _batches(paths[-2])
    paths[-2].unlink()
    return batches[0].header.base_offset, batches[-1].header.next_offset


def _tear(path: Path) -> tuple[int, int]:
    """Cut the last batch in two. Returns its offsets."""
    last = _batches(path)[-1]
    with path.open("r+b") as file:
        file.truncate(last.position + last.header.size // 2)
    return last.header.base_offset, last.header.next_offset


def _flip(path: Path) -> tuple[int, int]:
    """Flip a bit in the records of the last batch but two. Returns its offsets."""
    batch = _batches(path)[-3]
    content = bytearray(path.read_bytes())
    (length,) = struct.unpack_from(">i", content, batch.position + _LENGTH_AT)
    content[batch.position + _PREFIX + length - 5] ^= 0x10
    path.write_bytes(content)
    return batch.header.base_offset, batch.header.next_offset


@pytest.mark.wide
def test_directories_set_aside_by_kafka_are_read_and_no_record_is_saved_twice(oracle: Oracle, tmp_path: Path) -> None:
    """Partition 0 is stray, 1 has two directories, and 2 has an unreadable segment: a directory with its name."""
    disks = copy_of_disks(oracle.cluster, tmp_path)
    stray, twice = (segments(disks, CLIENT_CODECS, number)[0].parent for number in (0, 1))
    stray.rename(stray.with_name(f"{stray.name}.{'a' * 32}-stray"))
    shutil.copytree(twice, twice.with_name(f"{twice.name}.{'b' * 32}-delete"))
    unreadable = segments(disks, CLIENT_CODECS, 2)[-1].with_name(f"{10**9:020}.log")
    unreadable.mkdir()
    done = salvage(oracle.cluster, tmp_path / "saved", log_dirs=disks, topics={CLIENT_CODECS})
    failed = [each for each in done.findings if each.status is not SalvageStatus.SAVED]
    assert [(each.partition, each.status, each.saved is None) for each in failed] == [(2, SalvageStatus.FAILED, False)]
    reasons = {each.partition: each.reason for each in done.findings if each.reason}
    assert reasons.pop(2).startswith(f"{unreadable} could not be read to its end: Is a directory. What the cluster")
    assert reasons == {
        0: f"compared with {stray}.{'a' * 32}-stray, too",
        1: f"compared with {twice}.{'b' * 32}-delete, too",
    }
    assert in_short(records(read_rows(tmp_path / "saved"))) == in_short(oracle.of("lost", CLIENT_CODECS))


@pytest.mark.wide
def test_a_stray_replica_is_saved(kafka_version: str, tmp_path: Path) -> None:
    """Only broker 1 has the last records. It is removed from the replica list, then started and stopped."""
    with Cluster(kafka_version, properties=PROPERTIES, controller_properties=PATIENT) as cluster:
        oracle = Oracle(cluster)
        cluster.client.create_topic(LEDGER, {0: (LAST_LEADER, LONGER, SHORTER)}, {"min.insync.replicas": 1})
        oracle.write("common", LEDGER, 0, 10)
        wait_isr(cluster, [LEDGER], {LAST_LEADER, LONGER, SHORTER}, seen_by=LAST_LEADER)
        for each in (LONGER, SHORTER):
            cluster.brokers[each].freeze()
        wait_isr(cluster, [LEDGER], {LAST_LEADER}, seen_by=LAST_LEADER)
        oracle.write("lost", LEDGER, 0, 20)
        dead = cluster.brokers[LAST_LEADER]
        dead.kill()
        for each in (LONGER, SHORTER):
            cluster.brokers[each].thaw()
        wait_offline(cluster, LEDGER)
        cluster.client.elect_unclean(LEDGER, [0])
        wait_isr(cluster, [LEDGER], {LONGER, SHORTER}, seen_by=LONGER)
        assign(cluster, LEDGER, {0: (LONGER, SHORTER)})
        dead.start()
        dead.kill()
        assert [path for each in dead.data_dirs for path in each.glob(f"{LEDGER}-0.*-stray")]
        done = salvage(cluster, tmp_path / "saved", topics={LEDGER})
        assert [each.status for each in done.findings] == [SalvageStatus.SAVED]
        assert in_short(records(read_rows(tmp_path / "saved"))) == in_short(oracle.of("lost", LEDGER))
