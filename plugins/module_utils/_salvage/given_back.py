# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find records that were given back in the topics themselves, if the ledgers may lack them.

The topic of the ledgers can lose its newest records in an unclean election, as any other topic. The records that these
ledgers are about are still in their topics. Each has headers that name its origin, so it is not written twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from .._kafka.log_reading import Ask, CommittedLog
from .._model.log_contents import EpochRange, union
from .._model.partition import TopicPartition
from .ledger import Ledger
from .saved_run import SavedRun, read_origin, read_original_timestamp

Given: TypeAlias = "Mapping[tuple[int, int], int | None]"
"""Leader epoch and offset of each record that was given back, with its first timestamp; None if no header has it."""


def read_given_back(
    ask: Ask, partition: TopicPartition, start: int, origin: Mapping[str, bytes], wait_s: float | None
) -> Given:
    """Return the records that were given back from ``start`` on. ``wait_s`` is that of CommittedLog.read.

    ``origin`` names where they came from (``name_origin``).

    Raises OpenTransactionError, BrokerCallError or RequestRefusedError.
    """
    found: dict[tuple[int, int], int | None] = {}
    for _epoch, record in CommittedLog(ask, partition, start).read(wait_s):
        place = read_origin(record.headers, origin)
        if place is not None:
            found[place] = read_original_timestamp(record.headers)
    return found


def find_given(
    given: Mapping[TopicPartition, Given], runs: Iterable[SavedRun]
) -> dict[TopicPartition, list[EpochRange]]:
    """Return which saved records of each partition were given back.

    Their timestamps must be the same: a side topic may have records of an earlier topic of that name.
    """
    found: dict[TopicPartition, list[EpochRange]] = {each: [] for each in given}
    for run in runs:
        if times := given.get(run.topic_partition):
            found[run.topic_partition] += [
                EpochRange(run.epoch, offset, offset + 1)
                for offset, timestamp in enumerate(run.timestamps_ms, run.offset)
                # A saved record may have no timestamp, too.
                if (run.epoch, offset) in times and times[run.epoch, offset] == timestamp
            ]
    return found


def complete_ledger(ledger: Ledger, found: Sequence[EpochRange]) -> Ledger:
    """Return the ledger with the records that were ``found`` in the topic."""
    return Ledger(union([ledger.settled, found]), max(ledger.given, len(found)), ledger.superseded)
