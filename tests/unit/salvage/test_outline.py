# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading a few headers first finds the same lost records as reading whole logs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import LogDir, PartitionDir
from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Segment, read_segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange, intersect
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    EpochEnd,
    PartitionState,
    ReplicaLog,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import (
    Comparable,
    DiskFinding,
    DiskReplica,
    SalvageStatus,
    compare_with_leader,
    find_segments_with,
    keep_claims,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.scan import (
    SegmentContents,
    collect_contents,
    read_outlines,
)
from unit.salvage.batches import batch

STATE = PartitionState("orders", 0, "A" * 22, 2, 9, (1, 2), (2,), (), (), ())
A_SEGMENT = 3
EPOCHS = st.lists(st.integers(0, 2), min_size=1, max_size=14).map(
    lambda steps: [sum(steps[:n]) for n in range(len(steps))]
)
"""The epoch of each batch of a log. Epochs only grow."""


def written(directory: Path, epochs: Sequence[int], removed: frozenset[int] = frozenset()) -> tuple[Segment, ...]:
    """Write batches of two records, three batches per segment, without the ``removed`` ones, as compaction does."""
    segments = []
    for first in range(0, len(epochs), A_SEGMENT):
        numbers = [each for each in range(first, min(first + A_SEGMENT, len(epochs))) if each not in removed]
        content = b"".join(batch(each * 2, [b"a", b"b"], epoch=epochs[each]) for each in numbers)
        path = directory / f"{first * 2:020}.log"
        path.write_bytes(content)
        following = (first + A_SEGMENT) * 2 if first + A_SEGMENT < len(epochs) else None
        segments.append(Segment(str(path), first * 2, len(content), following))
    return tuple(segments)


def leader_with(epochs: Sequence[int]) -> ReplicaLog:
    """Return a log with two records per batch."""
    lineage = tuple(
        EpochEnd(epoch, 2 * (len(epochs) - list(reversed(epochs)).index(epoch))) for epoch in sorted(set(epochs))
    )
    return ReplicaLog("orders", 0, 2, log_start_offset=0, log_end_offset=2 * len(epochs), lineage=lineage)


def comparable(segments: tuple[Segment, ...]) -> Comparable:
    directory = PartitionDir("orders", 0, STATE.topic_id, segments, "/disk/orders-0")
    return Comparable((DiskReplica(LogDir("/disk", "cluster", 1, None), directory),), STATE)


def found_by_two_passes(one: Comparable, leader: ReplicaLog) -> tuple[DiskFinding, set[str]]:
    """Return the finding of a salvage, and the segments that it read whole."""
    segments = one.replicas[0].directory.segments
    contents = read_outlines([segments])
    to_read = list(find_segments_with(one.replicas, compare_with_leader(one, leader, contents).lost))
    contents |= {each.path: collect_contents(each, read_segment) for each in to_read}
    return compare_with_leader(one, leader, contents), {each.path for each in to_read}


def found_by_reading_all(one: Comparable, leader: ReplicaLog) -> DiskFinding:
    contents = {each.path: collect_contents(each, read_segment) for each in one.replicas[0].directory.segments}
    return compare_with_leader(one, leader, contents)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(shared=EPOCHS, more=EPOCHS, leaders=EPOCHS, removed=st.frozensets(st.integers(0, 27), max_size=4))
def test_two_passes_find_the_same_as_reading_everything(
    tmp_path_factory: pytest.TempPathFactory,
    shared: list[int],
    more: list[int],
    leaders: list[int],
    removed: frozenset[int],
) -> None:
    """The two logs are the same up to a batch, and then diverge: the epochs after it are different."""
    last = shared[-1]
    epochs = shared + [last + 2 * each for each in more]
    leader = leader_with(shared + [last + 2 * each + 1 for each in leaders])
    # The end of an epoch is known by its last batch alone, whoever looks.
    ends = {number for number, epoch in enumerate(epochs) if [*epochs, -1][number + 1] != epoch}
    one = comparable(written(tmp_path_factory.mktemp("log"), epochs, removed - ends))
    found, _read = found_by_two_passes(one, leader)
    expected = found_by_reading_all(one, leader)
    assert (found.status, found.lost, found.unreadable) == (expected.status, expected.lost, expected.unreadable)
    assert intersect(found.held, found.lost) == intersect(expected.held, expected.lost)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    epochs=EPOCHS,
    leaders=st.integers(0, 14),
    damage=st.lists(st.tuples(st.integers(0, 13), st.integers(21, 70), st.integers(0, 7)), min_size=1, max_size=3),
)
def test_two_passes_miss_nothing_on_a_damaged_disk(
    tmp_path_factory: pytest.TempPathFactory, epochs: list[int], leaders: int, damage: list[tuple[int, int, int]]
) -> None:
    """Flip bits anywhere in the log, in bytes that checksums cover."""
    segments = written(tmp_path_factory.mktemp("log"), epochs)
    size = len(batch(0, [b"a", b"b"]))
    for number, place, bit in damage:
        segment = segments[number // A_SEGMENT] if number // A_SEGMENT < len(segments) else segments[-1]
        flip(segment, (number % A_SEGMENT * size + place) % segment.size, bit)
    one, leader = comparable(segments), leader_with([0, *epochs][: leaders + 1])
    found, _read = found_by_two_passes(one, leader)
    expected = found_by_reading_all(one, leader)
    saved = intersect(found.held, found.lost)
    assert intersect(expected.held, expected.lost) == intersect(saved, intersect(expected.held, expected.lost))


def test_a_log_that_the_leader_has_is_not_read_whole(tmp_path: Path) -> None:
    epochs = [0, 0, 0, 0, 1, 1, 1, 1, 1]
    segments = written(tmp_path, epochs)
    first, second, third = segments
    assert read_outlines([segments]) == {
        first.path: SegmentContents(first.path, (EpochRange(0, 0, 6),), ()),
        second.path: SegmentContents(second.path, (EpochRange(0, 6, 8), EpochRange(1, 8, 12)), ()),
        third.path: SegmentContents(third.path, (EpochRange(1, 12, 18),), ()),
    }
    found, read = found_by_two_passes(comparable(segments), leader_with(epochs))
    assert (found.status, read) == (SalvageStatus.NOTHING_LACKING, set())


def test_only_segments_with_lost_records_are_read_whole(tmp_path: Path) -> None:
    segments = written(tmp_path, [0] * 9)
    found, read = found_by_two_passes(comparable(segments), leader_with([0] * 7))
    assert (found.lost, read) == ((EpochRange(0, 14, 18),), {segments[2].path})


def test_lost_records_of_a_missing_segment_are_unreadable(tmp_path: Path) -> None:
    first, second, third = written(tmp_path, [0] * 9)
    os.unlink(second.path)
    found, _read = found_by_two_passes(
        comparable((replace(first, end_offset=third.base_offset), third)), leader_with([0])
    )
    assert (found.lost, found.unreadable) == ((EpochRange(0, 2, 18),), (EpochRange(0, 6, 12),))


def flip(segment: Segment, place: int, bit: int) -> None:
    content = bytearray(Path(segment.path).read_bytes())
    content[place] ^= 1 << bit
    Path(segment.path).write_bytes(content)


def test_what_the_header_of_a_damaged_last_batch_shows_is_not_called_held_by_the_leader(tmp_path: Path) -> None:
    segments = written(tmp_path, [0, 0])
    flip(segments[0], segments[0].size - 2, 3)
    one, leader = comparable(segments), leader_with([0])
    before = compare_with_leader(one, leader, read_outlines([segments]))
    found = keep_claims(before, found_by_reading_all(one, leader))
    assert (found.status, found.lost) == (SalvageStatus.FAILED, (EpochRange(0, 2, 4),))
    assert found.unreadable == found.lost
    assert (
        found.reason == "the cluster lacks offsets 2 to 3, which were in this log, and no batch with them can be read"
    )


def test_an_empty_last_segment_shows_what_was_before_it(tmp_path: Path) -> None:
    segments = written(tmp_path, [0])
    path = tmp_path / f"{8:020}.log"
    path.touch()
    segments = (replace(segments[0], end_offset=8), Segment(str(path), 8, 0))
    found, _read = found_by_two_passes(comparable(segments), leader_with([0, 0]))
    assert (found.status, found.unreadable) == (SalvageStatus.FAILED, (EpochRange(0, 4, 8),))
    found, _read = found_by_two_passes(comparable(segments), leader_with([0] * 4))
    assert found.status is SalvageStatus.NOTHING_LACKING
