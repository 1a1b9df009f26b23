# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say whether a leader may have deleted records itself, so that no election loses them. Standard library only.

A leader deletes a segment when its newest record is older than ``retention.ms``, or when the log without it still has
``retention.bytes``. How much was written since a recording is not known. Without either, only an application deletes
records: Kafka Streams does so in its repartition topics, as soon as it has read them (DeleteRecords). A log that begins
later than at offset 0 shows that one does.
"""

from __future__ import annotations

from typing import NamedTuple

POLICY, BYTES, MS = "cleanup.policy", "retention.bytes", "retention.ms"
FOR_EVER = -1
_PURGED = (
    "the topic keeps its records for ever, but its log begins at offset {}: an application deletes its records "
    "(DeleteRecords), as Kafka Streams does in repartition topics"
)


def is_compacted(policy: str) -> bool:
    """Return whether a topic with this ``cleanup.policy`` is compacted by log cleaners."""
    return "compact" in (each.strip() for each in policy.split(","))


class Retention(NamedTuple):
    """How a topic's leader deletes old records. -1 is no limit."""

    milliseconds: int
    size_bytes: int

    @staticmethod
    def from_configs(policy: str | None, size: str | None, time: str | None) -> Retention | None:
        """Return it by the values of ``POLICY``, ``BYTES`` and ``MS``. None if they are not known."""
        if policy is not None and "delete" not in policy:
            return Retention(FOR_EVER, FOR_EVER)
        return Retention(int(time), int(size)) if size is not None and time is not None else None


def why_deleted(retention: Retention | None, oldest_ms: int | None, until_ms: int, start_offset: int) -> str:
    """Return why records may have been deleted until a time. Empty if their leader still had them.

    ``oldest_ms`` is the time of the record before them, by the timestamps of records. None is not known.
    ``start_offset`` is the greatest one at which the log is known to have begun.
    """
    if retention is None:
        return "the retention of the topic is unknown: grant DESCRIBE_CONFIGS on it"
    if retention.size_bytes != FOR_EVER:
        return f"{BYTES} of the topic is {retention.size_bytes}, and how much was written since is unknown"
    if retention.milliseconds == FOR_EVER:
        return _PURGED.format(start_offset) if start_offset else ""
    if oldest_ms is None:
        return f"{MS} of the topic is {retention.milliseconds}, and how old its records are is unknown"
    if until_ms - oldest_ms >= retention.milliseconds:
        return f"{MS} of the topic is {retention.milliseconds}, so the leader may have deleted such records since"
    return ""
