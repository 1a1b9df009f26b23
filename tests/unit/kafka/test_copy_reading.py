# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Damage at any position of a copy is found by its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.copy_reading import _check


def _batch(base: int, count: int) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 10**6)
    for number in range(count):
        builder.append(number, 1, b"key", b"value", [])
    content = bytearray(builder.build())
    content[:8] = base.to_bytes(8, "big")
    return bytes(content)


WHOLE = _batch(0, 3) + _batch(3, 2) + _batch(9, 1)


def test_whole_batches_and_one_that_is_cut_off() -> None:
    assert _check(WHOLE, 0) == (10, "", False)
    assert _check(WHOLE[:-1], 0) == (5, "", False)
    assert _check(b"", 7) == (7, "", False)
    # A fetch may begin in the middle of a batch.
    assert _check(_batch(0, 3), 2) == (3, "", False)


@given(st.integers(len(_batch(0, 3)) + 16, len(_batch(0, 3)) + len(_batch(3, 2)) - 1), st.integers(1, 255))
def test_any_flipped_byte_after_the_length_is_found(place: int, flip: int) -> None:
    spoilt = bytearray(WHOLE)
    spoilt[place] ^= flip
    following, damage, is_old = _check(bytes(spoilt), 0)
    assert following == 3
    assert damage or is_old


@pytest.mark.parametrize(("place", "value"), [(11, 3), (16, 0x7F)], ids=["length", "magic"])
def test_invalid_batch_headers_are_damage(place: int, value: int) -> None:
    spoilt = bytearray(WHOLE)
    spoilt[place] = value
    assert "offset -1" in _check(bytes(spoilt), 0)[1]


def test_zeros_are_damage() -> None:
    zeroed = _batch(0, 3) + bytes(len(_batch(3, 2)))
    assert _check(zeroed, 0) == (
        3,
        "the batch after offset 2 has an invalid header (length 0, base offset 0)",
        False,
    )


def test_old_record_format_is_not_damage() -> None:
    spoilt = bytearray(WHOLE)
    spoilt[16] = 1
    assert _check(bytes(spoilt), 0) == (0, "", True)


def test_negative_length_is_damage_whatever_the_magic_says() -> None:
    spoilt = bytearray(WHOLE)
    spoilt[8], spoilt[16] = 0xFF, 1
    following, damage, is_old = _check(bytes(spoilt), 0)
    assert (following, is_old) == (0, False)
    assert "has an invalid header (length -" in damage
