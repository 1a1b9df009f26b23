# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Segments are read batch by batch. Damaged bytes are reported and skipped."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Batch, Damage, DamageKind
from unit.salvage.batches import batch, damages, ranges, read

FIVE = [batch(number * 10, [b"value-%d" % each for each in range(10)], epoch=3) for number in range(5)]
WHOLE = b"".join(FIVE)
SIZE = len(FIVE[0])


def test_a_whole_segment(tmp_path: Path) -> None:
    found = read(WHOLE, tmp_path=tmp_path)
    assert ranges(found) == [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50)]
    assert b"".join(bytes(each.data) for each in found if isinstance(each, Batch)) == WHOLE
    assert not damages(found)


def test_an_empty_segment(tmp_path: Path) -> None:
    assert read(b"", tmp_path=tmp_path) == []


@pytest.mark.parametrize("cut", [1, 12, 60, SIZE - 1])
def test_a_torn_tail_is_reported_with_the_offset_before_it(tmp_path: Path, cut: int) -> None:
    found = read(WHOLE[: 4 * SIZE + cut], tmp_path=tmp_path)
    assert ranges(found) == [(0, 10), (10, 20), (20, 30), (30, 40)]
    assert damages(found) == [Damage(DamageKind.TORN_TAIL, 4 * SIZE, cut, 40, None)]


def test_a_tail_of_zeros_is_a_torn_tail(tmp_path: Path) -> None:
    found = read(WHOLE + bytes(5000), tmp_path=tmp_path)
    assert len(ranges(found)) == 5
    assert damages(found) == [Damage(DamageKind.TORN_TAIL, len(WHOLE), 5000, 50, None)]


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("place", [*range(0, 61, 3), SIZE - 1])
def test_a_flipped_bit_loses_one_batch(tmp_path: Path, place: int, bit: int) -> None:
    """Base offset, length and epoch are outside the checksum. Errors in them are found by the neighboring batches."""
    content = bytearray(WHOLE)
    content[2 * SIZE + place] ^= 1 << bit
    found = read(bytes(content), tmp_path=tmp_path)
    good = [(0, 10), (10, 20), (30, 40), (40, 50)]
    assert [each for each in ranges(found) if each in good] == good
    if damages(found):
        assert damages(found) == [Damage(DamageKind.CORRUPT, 2 * SIZE, SIZE, 20, 30)]
    else:
        # A base offset or an epoch that still fits between the neighbors'.
        (changed,) = (each for each in found if isinstance(each, Batch) and each.position == 2 * SIZE)
        assert changed.header.base_offset == 20
        assert changed.header.leader_epoch == 3


def test_missing_bytes_are_reported(tmp_path: Path) -> None:
    found = read(WHOLE[: SIZE + 30] + WHOLE[2 * SIZE + 7 :], tmp_path=tmp_path)
    assert ranges(found) == [(0, 10), (30, 40), (40, 50)]
    assert [(each.kind, each.from_offset, each.to_offset) for each in damages(found)] == [(DamageKind.CORRUPT, 10, 30)]


def test_an_old_format_is_reported(tmp_path: Path) -> None:
    old = struct.pack(">qiIbb", 0, 20, 0, 1, 0) + bytes(14)
    found = read(old + FIVE[1], tmp_path=tmp_path)
    assert [each.kind for each in damages(found)] == [DamageKind.OLD_FORMAT]
    assert ranges(found) == [(10, 20)]


@pytest.mark.parametrize("magic", [0, 1])
def test_garbage_with_zeros_is_no_old_format(tmp_path: Path, magic: int) -> None:
    """Such as a stale block of an offset index. The length in it leads past intact batches."""
    stale = struct.pack(">qiIbb", 15, 3 * SIZE, 0, magic, 0)
    found = read(FIVE[0] + stale + bytes(SIZE - len(stale)) + b"".join(FIVE[2:]), tmp_path=tmp_path)
    assert ranges(found) == [(0, 10), (20, 30), (30, 40), (40, 50)]
    assert damages(found) == [Damage(DamageKind.CORRUPT, SIZE, SIZE, 10, 20)]


@pytest.mark.parametrize("beyond", [0, 20, 60])
def test_garbage_that_spans_the_last_batches_is_no_old_format(tmp_path: Path, beyond: int) -> None:
    """Its length leads to the end of the file, or so near to it that no header follows."""
    length = SIZE + sum(map(len, FIVE[2:])) - 12
    stale = struct.pack(">qiIbb", 15, length, 0, 1, 0)
    found = read(FIVE[0] + stale + bytes(SIZE - len(stale)) + b"".join(FIVE[2:]) + bytes(beyond), tmp_path=tmp_path)
    assert ranges(found) == [(0, 10), (20, 30), (30, 40), (40, 50)]


@pytest.mark.parametrize("following", [batch(10, [b"new"]), b""], ids=["a batch follows", "nothing follows"])
def test_messages_of_an_old_format_that_follow_each_other_are_one_place(tmp_path: Path, following: bytes) -> None:
    """A compacted topic from before Kafka 0.11 may have millions of them."""
    old = [struct.pack(">qiIbb", number, 60, 0, 1, 0) + bytes(54) for number in range(3)]
    content = b"".join(old)
    found = read(content + following, tmp_path=tmp_path)
    to_offset = 10 if following else None
    assert damages(found) == [Damage(DamageKind.OLD_FORMAT, 0, len(content), 0, to_offset)]
    assert ranges(found) == ([(10, 11)] if following else [])


def test_a_batch_larger_than_the_read_buffer(tmp_path: Path) -> None:
    large = batch(0, [random.Random(1).randbytes(9_000_000)])
    found = read(large + FIVE[1], tmp_path=tmp_path)
    assert ranges(found) == [(0, 1), (10, 20)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=20))
def test_random_damage_yields_only_whole_batches_in_order(tmp_path: Path, edits: list[tuple[int, int]]) -> None:
    content = bytearray(WHOLE)
    for place, value in edits:
        content[place] = value
    found = read(bytes(content), tmp_path=tmp_path)
    places = [(each.position, each.header.size if isinstance(each, Batch) else each.size) for each in found]
    assert [start for start, _size in places] == [0, *(start + size for start, size in places[:-1])]
    assert sum(size for _start, size in places) == len(content)
    offsets = [offset for pair in ranges(found) for offset in pair]
    assert offsets == sorted(offsets)
