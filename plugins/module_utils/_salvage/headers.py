# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The headers that a record gets when it is given back. They name where it was."""

from __future__ import annotations

from collections.abc import Sequence

from .saved_rows import Header, SavedRow

PREFIX = "kafkaops.salvage."
_EPOCH, _OFFSET = f"{PREFIX}epoch", f"{PREFIX}offset"
OVERHEAD_BYTES = 512
"""What they and the framing of a record and its batch add at most, without the topic's name."""


def origin_headers(cluster_id: str, row: SavedRow) -> list[Header]:
    """Return the added headers, values as text. The timestamp is there for topics that set their own."""
    named = {
        "cluster": cluster_id,
        "broker": row.broker_id,
        "topic": row.topic,
        "partition": row.partition,
        "epoch": row.epoch,
        "offset": row.offset,
        "timestamp": row.timestamp_ms,
    }
    return [(PREFIX + name, str(value).encode()) for name, value in named.items()]


def origin_of(headers: Sequence[Header]) -> tuple[int, int] | None:
    """Return leader epoch and offset that a record had before it was given back; None for any other record."""
    # The last ones count: a record that was given back twice, after two incidents, was last lost where they say.
    found = {name: value for name, value in headers if name in (_EPOCH, _OFFSET)}
    try:
        return int(found[_EPOCH] or b""), int(found[_OFFSET] or b"")
    except (KeyError, ValueError):
        return None
