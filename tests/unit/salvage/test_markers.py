# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A transaction has an outcome only if everything up to its marker was read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.rows import (
    Origin,
    WantedReplica,
    read_replica_rows,
)
from unit.salvage.batches import a_batch

ORIGIN = Origin("cluster", "id", "orders", 4, 1, None)
ABORT, COMMIT = 0, 1
ABORTED = (
    a_batch(13, *[b"undone"] * 5, producer=7),
    a_batch(18, producer=7, control=ABORT),
)
"""One producer aborts a transaction."""
COMMITTED = (
    a_batch(19, *[b"done"] * 5, producer=7),
    a_batch(24, producer=7, control=COMMIT),
)
"""The same producer commits the next one."""


def outcomes(directory: Path, *segments: Sequence[bytes], unreadable: Sequence[int] = ()) -> dict[int, str]:
    """Return the outcome of each batch with data, by base offset. Segments are files of one log."""
    files = []
    for number, batches in enumerate(segments):
        path = directory / f"{number}.log"
        content = b"".join(batches)
        if number not in unreadable:
            path.write_bytes(content)
        files.append(Segment(str(path), int.from_bytes(batches[0][:8], "big"), len(content)))
    wanted = WantedReplica(ORIGIN, (EpochRange(5, 0, 1000),), tuple(files))
    rows = [row for each in read_replica_rows(wanted) for row in each.to_pylist()]
    return {row["batch_base_offset"]: row["transaction"] for row in rows if row["control_type"] is None}


def flip(batch: bytes) -> bytes:
    """Return the batch with one byte changed, so that its checksum is wrong."""
    return batch[:-1] + bytes([batch[-1] ^ 1])


def test_each_transaction_of_a_producer_has_its_own_outcome(tmp_path: Path) -> None:
    assert outcomes(tmp_path, [*ABORTED, *COMMITTED]) == {13: "aborted", 19: "committed"}
    assert outcomes(tmp_path, ABORTED, COMMITTED) == {13: "aborted", 19: "committed"}, "two segments"


@pytest.mark.parametrize("damaged", [1, 2, 3])
def test_damage_before_the_next_marker_makes_the_outcome_unknown(tmp_path: Path, damaged: int) -> None:
    """Damaged are the marker, a batch of the next transaction, and its marker."""
    batches = [*ABORTED, *COMMITTED]
    batches[damaged] = flip(batches[damaged])
    expected = {1: {13: "unknown", 19: "committed"}, 2: {13: "aborted"}, 3: {13: "aborted", 19: "unknown"}}
    assert outcomes(tmp_path, batches) == expected[damaged]


def test_damage_of_another_producers_batch_hides_every_open_transaction(tmp_path: Path) -> None:
    """A damaged batch does not show whose it was. Transactions that had ended before it keep their outcome."""
    batches = [
        a_batch(0, b"a", producer=1),
        a_batch(1, b"b", producer=2),
        a_batch(2, producer=2, control=COMMIT),
        flip(a_batch(3, b"c", producer=3)),
        a_batch(4, producer=1, control=COMMIT),
        a_batch(5, b"d", producer=1),
        a_batch(6, producer=1, control=ABORT),
    ]
    assert outcomes(tmp_path, batches) == {0: "unknown", 1: "committed", 5: "aborted"}


def test_a_missing_segment_makes_the_outcome_unknown(tmp_path: Path) -> None:
    """The segment that had the marker is away, cannot be opened, or was cut between two batches."""
    data, marker = ABORTED
    assert outcomes(tmp_path, [data], COMMITTED) == {13: "unknown", 19: "committed"}
    found = outcomes(tmp_path, [data], [marker], COMMITTED, unreadable=[1])
    assert found == {13: "unknown", 19: "committed"}
    assert outcomes(tmp_path, [data], [marker]) == {13: "aborted"}


@pytest.mark.parametrize(
    "control",
    [
        a_batch(18, producer=7, control=2),
        a_batch(18, producer=7, control=ABORT, version=1),
        a_batch(18, producer=7, producer_epoch=-1, control=ABORT),
    ],
    ids=["another type", "another version", "an older producer epoch"],
)
def test_a_control_batch_that_does_not_say_how_it_ended(tmp_path: Path, control: bytes) -> None:
    """It ends the transaction, so that the next marker does not count for its records."""
    assert outcomes(tmp_path, [ABORTED[0], control, *COMMITTED]) == {13: "unknown", 19: "committed"}


def test_a_marker_with_a_newer_producer_epoch_ends_the_transaction(tmp_path: Path) -> None:
    """The coordinator fences a producer by the next epoch, and writes its marker with it (KIP-360, KIP-890)."""
    fenced = a_batch(18, producer=7, producer_epoch=1, control=ABORT)
    assert outcomes(tmp_path, [ABORTED[0], fenced, *COMMITTED])[13] == "aborted"


def test_a_log_that_begins_in_the_middle_of_a_transaction(tmp_path: Path) -> None:
    """Its marker decides about the rest, as it does for a consumer of that log."""
    rest = a_batch(16, b"undone", b"undone", producer=7)
    assert outcomes(tmp_path, [rest, ABORTED[1], *COMMITTED]) == {16: "aborted", 19: "committed"}


def test_offsets_that_compaction_removed_are_no_damage(tmp_path: Path) -> None:
    """The batches before and after them follow each other in the file."""
    assert outcomes(tmp_path, [a_batch(3, b"done", producer=7), a_batch(24, producer=7, control=COMMIT)]) == {
        3: "committed"
    }
