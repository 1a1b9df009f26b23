# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find records that were given back in the topics themselves, if the ledgers may lack them.

The topic of the ledgers can lose its newest records in an unclean election, as any other topic. The records that these
ledgers are about are still in their topics. Each has headers that name its origin, so it is not written twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from .._model.log_contents import EpochRange, union
from .._model.partition import TopicPartition
from .ledger import Ledger
from .log_reading import Ask, CommittedLog
from .saved_run import SavedRun, read_origin, read_original_timestamp

_SETTLE_S = 60.0


def read_given_back(ask: Ask, partition: TopicPartition, start: int) -> dict[tuple[int, int], int | None]:
    """Return leader epoch and offset of each record that was given back from ``start`` on, with its first timestamp.

    Raises OpenTransactionError, BrokerCallError or RequestRefusedError.
    """
    found: dict[tuple[int, int], int | None] = {}
    for _epoch, record in CommittedLog(ask, partition, start).read(time.monotonic() + _SETTLE_S):
        origin = read_origin(record.headers)
        if origin is not None:
            found[origin] = read_original_timestamp(record.headers)
    return found


def complete_ledger(ledger: Ledger, given: Mapping[tuple[int, int], int | None], runs: Iterable[SavedRun]) -> Ledger:
    """Return the ledger with the saved records that were given back by ``given``.

    Their timestamps must be the same: a side topic may have records of an earlier topic of that name.
    """
    found = _find_given(given, runs)
    return Ledger(union([ledger.settled, found]), max(ledger.given, len(found)), ledger.superseded)


def _find_given(given: Mapping[tuple[int, int], int | None], runs: Iterable[SavedRun]) -> Sequence[EpochRange]:
    return [
        EpochRange(run.epoch, offset, offset + 1)
        for run in runs
        for offset, timestamp in enumerate(run.timestamps_ms, run.offset)
        if given.get((run.epoch, offset)) == timestamp
    ]
