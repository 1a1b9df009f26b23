# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read a file on a disk that may be failing. Standard library only.

Blocks that the disk refuses to read are returned as zeros. A batch with zeros in it fails its checksum, so it is
skipped, and reading continues after it.
"""

from __future__ import annotations

import errno
from typing import BinaryIO

_BLOCK_BYTES = 4096
"""The smallest unit that Linux reads: one page."""
_MOST_REFUSED_IN_A_ROW = 256
"""A limit, because a disk may retry each block for seconds."""


class FailingFile:
    """A file that is read by position. ``file`` must be unbuffered: a buffer would hide which bytes were refused."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.refused: set[int] = set()
        """Positions of the blocks that the disk refused to read."""
        self._refused_in_a_row = 0

    def read(self, position: int, count: int) -> bytes:
        """Return ``count`` bytes, or fewer at the end of the file.

        Raises OSError if 256 blocks in a row were refused, or for any other error than EIO.
        """
        piece = self._piece(position, count)
        if len(piece) == count:
            return piece
        content = bytearray(piece)
        while piece and len(content) < count:
            piece = self._piece(position + len(content), count - len(content))
            content += piece
        return bytes(content)

    def has_refused(self, start: int, end: int) -> bool:
        """Return whether the disk refused any byte from ``start`` to ``end``, exclusive."""
        return any(start < block + _BLOCK_BYTES and block < end for block in self.refused)

    def _piece(self, position: int, count: int) -> bytes:
        block = position - position % _BLOCK_BYTES
        if block not in self.refused:
            try:
                self._file.seek(position)
                piece = self._file.read(count)
            except OSError as error:
                self._refused_in_a_row += 1
                if error.errno != errno.EIO or self._refused_in_a_row > _MOST_REFUSED_IN_A_ROW:
                    raise
                self.refused.add(block)
            else:
                self._refused_in_a_row = 0
                return piece
        return bytes(min(count, block + _BLOCK_BYTES - position))
