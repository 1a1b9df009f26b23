# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The headers that a record gets when it is given back. They name where it was."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from .saved_run import Header, SavedRun

PREFIX = "kafkaops.salvage."
_EPOCH, _OFFSET, _TIMESTAMP = f"{PREFIX}epoch", f"{PREFIX}offset", f"{PREFIX}timestamp"
OVERHEAD_BYTES = 512
"""What they and the framing of a record and its batch add at most, without the topic's name."""


def with_origin(cluster_id: str, run: SavedRun) -> list[list[Header]]:
    """Return the headers of each record of a run with those that are added, values as text.

    The timestamp is there for topics that set their own.
    """
    shared = {
        "cluster": cluster_id,
        "broker": run.broker_id,
        "topic": run.topic,
        "partition": run.partition,
        "epoch": run.epoch,
    }
    of_all = [(PREFIX + name, str(value).encode()) for name, value in shared.items()]
    # Pairs from zip are made much faster than by an expression for each record.
    offsets = zip(repeat(_OFFSET), run.offsets_as_text, strict=False)
    timestamps = zip(repeat(_TIMESTAMP), run.timestamps_as_text, strict=False)
    columns = zip(run.headers, offsets, timestamps, strict=True)
    return [[*own, *of_all, offset, timestamp] for own, offset, timestamp in columns]


def origin_of(headers: Sequence[Header]) -> tuple[int, int] | None:
    """Return leader epoch and offset that a record had before it was given back; None for any other record."""
    # The last ones count: a record that was given back twice, after two incidents, was last lost where they say.
    found = {name: value for name, value in headers if name in (_EPOCH, _OFFSET)}
    try:
        return int(found[_EPOCH] or b""), int(found[_OFFSET] or b"")
    except (KeyError, ValueError):
        return None
