# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A block that a disk refuses to read loses the batch that it is in, and no other batch."""

from __future__ import annotations

import errno
import io
import os
from typing import BinaryIO, cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.failing_file import FailingFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import (
    Damage,
    DamageKind,
    Segment,
    read_headers,
    read_segment,
)
from unit.salvage.batches import batch, damages, ranges

BLOCK = 4096
LARGE = [batch(number * 10, [os.urandom(3000) for _each in range(10)], epoch=3) for number in range(5)]
SIZE = len(LARGE[0])
WHOLE = b"".join(LARGE)


class FakeFailingDisk:
    """A file on a disk with bad blocks: Linux reads up to the first one, or raises EIO if the read begins there."""

    def __init__(self, content: bytes, *bad: int, code: int = errno.EIO) -> None:
        self._file = io.BytesIO(content)
        self._bad = {number * BLOCK for number in bad}
        self._code = code

    def seek(self, position: int) -> int:
        return self._file.seek(position)

    def read(self, count: int) -> bytes:
        position = self._file.tell()
        if position - position % BLOCK in self._bad:
            raise OSError(self._code, os.strerror(self._code))
        return self._file.read(min([count, *(each - position for each in self._bad if each > position)]))


def disk(content: bytes, *bad: int, code: int = errno.EIO) -> BinaryIO:
    return cast("BinaryIO", FakeFailingDisk(content, *bad, code=code))


def segment(content: bytes) -> Segment:
    return Segment("0.log", 0, len(content))


def test_refused_blocks_are_read_as_zeros() -> None:
    content = bytes(range(1, 256)) * 64
    file = FailingFile(disk(content, 1, 2))
    assert file.read(10, len(content)) == content[10:BLOCK] + bytes(2 * BLOCK) + content[3 * BLOCK :]
    assert file.read(BLOCK + 5, 3) == bytes(3)
    assert [file.has_refused(*each) for each in [(0, BLOCK), (BLOCK - 1, BLOCK + 1), (3 * BLOCK, 9 * BLOCK)]] == [
        False,
        True,
        False,
    ]


def test_a_refused_block_loses_only_its_batch() -> None:
    found = list(read_segment(disk(WHOLE, (2 * SIZE + 5000) // BLOCK), segment(WHOLE)))
    assert ranges(found) == [(0, 10), (10, 20), (30, 40), (40, 50)]
    assert damages(found) == [Damage(DamageKind.UNREADABLE, 2 * SIZE, SIZE, 20, 30)]


def test_a_refused_end_is_reported() -> None:
    found = list(read_segment(disk(WHOLE, (len(WHOLE) - 1) // BLOCK), segment(WHOLE)))
    assert damages(found) == [Damage(DamageKind.UNREADABLE, 4 * SIZE, SIZE, 40, None)]


def test_headers_are_read_past_a_refused_block() -> None:
    """A bad block among the records is not read. A bad block with a header loses this batch."""
    among_records, with_header = (2 * SIZE + 15_000) // BLOCK, 3 * SIZE // BLOCK
    found = list(read_headers(disk(WHOLE, among_records, with_header), segment(WHOLE)))
    lost = [each for each in found if isinstance(each, Damage)]
    assert [(each.kind, each.from_offset, each.to_offset) for each in lost] == [(DamageKind.UNREADABLE, 30, 40)]
    assert [each.header.base_offset for each in found if not isinstance(each, Damage)] == [0, 10, 20, 40]


def test_reading_stops_if_every_block_is_refused() -> None:
    with pytest.raises(OSError, match=r"Input/output error"):
        list(read_segment(disk(bytes(BLOCK * 300), *range(300)), segment(bytes(BLOCK * 300))))


def test_another_error_is_raised() -> None:
    with pytest.raises(OSError, match=r"Stale file handle"):
        list(read_segment(disk(WHOLE, 1, code=errno.ESTALE), segment(WHOLE)))


def test_a_file_that_became_shorter_is_an_error() -> None:
    with pytest.raises(OSError, match="became shorter"):
        list(read_segment(disk(WHOLE[: 2 * SIZE]), segment(WHOLE)))
