# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Start offsets of share groups, read from records in the layout of Kafka's share coordinator."""

from __future__ import annotations

import struct
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import uuid_text
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.share_state import places_of, read_share_states
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.markers import TransactionOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved_run import is_committed

TOPIC = uuid.UUID("12345678-9abc-def0-1234-56789abcdef0")
PLACE = ("queue", uuid_text(TOPIC), 3)
Batch = tuple[int, int, int]


def key(kind: int) -> bytes:
    return struct.pack(">hh5s16si", kind, 5, b"queue", TOPIC.bytes, 3)


def packed(batches: tuple[Batch, ...]) -> bytes:
    """Return a compact array of state batches, and the end of the value without tags."""
    elements = b"".join(struct.pack(">qqbhb", *each, 1, 0) for each in batches)
    return bytes([len(batches) + 1]) + elements + b"\x00"


def snapshot(start: int, *batches: Batch, epoch: int = 2) -> tuple[bytes, bytes | None]:
    return key(0), struct.pack(">hiiiqqq", 0, 1, epoch, 3, start, 8, 9) + packed(batches)


def update(start: int, *batches: Batch) -> tuple[bytes, bytes | None]:
    return key(1), struct.pack(">hiiq", 0, 1, 3, start) + packed(batches)


def starts(*records: tuple[bytes | None, bytes | None]) -> dict[tuple[str, str, int], int | None]:
    return {place: None if each is None else each.next_record() for place, each in read_share_states(records).items()}


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([snapshot(5)], {PLACE: 5}),
        ([snapshot(5), update(7)], {PLACE: 7}),
        ([snapshot(5), update(7), update(-1)], {PLACE: 7}),
        ([snapshot(5), update(7), snapshot(2)], {PLACE: 2}),
        ([snapshot(5), (key(0), None)], {}),
        ([(key(2), b""), (None, b""), (b"\x00", b"")], {}),
        ([snapshot(0), update(-1, (0, 6, 2))], {PLACE: 7}),
        ([snapshot(0, (0, 1, 4), (2, 3, 0)), update(-1, (2, 2, 2))], {PLACE: 3}),
        ([snapshot(0, (0, 6, 2)), update(-1, (3, 4, 0))], {PLACE: 3}),
        ([snapshot(0, (1, 6, 2))], {PLACE: 0}),
        ([update(7)], {PLACE: None}),
        ([update(7), snapshot(5), update(-1, (5, 5, 2))], {PLACE: 6}),
        ([update(7), (key(0), None)], {}),
        ([(key(0), struct.pack(">hiiiqqq", 1, 1, 2, 3, 5, 8, 9))], {PLACE: None}),
        ([snapshot(5), (key(0), b"\x00\x00")], {PLACE: None}),
        ([snapshot(5), (key(1), struct.pack(">hiiq", 1, 1, 3, 9))], {PLACE: None}),
        ([(key(1), b"\x00\x00"), snapshot(5)], {PLACE: 5}),
    ],
)
def test_a_group_was_at_the_first_record_that_is_not_done(
    records: list[tuple[bytes | None, bytes | None]], expected: dict[tuple[str, str, int], int | None]
) -> None:
    assert starts(*records) == expected


def test_a_record_of_an_aborted_transaction_does_not_count() -> None:
    run: Any = SimpleNamespace(is_control=False, outcome=TransactionOutcome.ABORTED, keys=[key(0)], values=[b""])
    assert not is_committed(run)


def test_changes_apply_to_the_state_before_them() -> None:
    before = read_share_states([snapshot(0, (0, 2, 2))])
    after = read_share_states([update(-1, (3, 6, 2))], before)
    (was, state) = (before[PLACE], after[PLACE])
    assert was is not None
    assert state is not None
    assert (was.next_record(), state.next_record()) == (3, 7)
    assert (was.has_done_from(2), was.has_done_from(3), state.has_done_from(6)) == (True, False, True)
    assert places_of([update(-1), (None, b""), (b"?", b"")]) == {PLACE}
