# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where replicas are asked and ranked: in this process, or by Spark's tasks (on_spark.py).

Both do the same work with the same code, and return the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from .gather_work import BrokerWork
from .probe_task import AskBrokers

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa

    from .rows import ranked_table


class Engine(Protocol):
    """Asks replicas, and ranks what they answered."""

    def ask(self, work: Sequence[BrokerWork], ask_brokers: AskBrokers) -> pa.Table:
        """Return one row of ``REPLICA_LOG_SCHEMA`` for every replica in ``work``, which is not empty."""

    def rank(self, replica_logs: pa.Table) -> pa.Table:
        """Rows of ``REPLICA_LOG_SCHEMA``, of whole partitions, to as many of ``RANKED_SCHEMA``, in any order."""


class InProcess:
    """One thread for each broker, and no Spark."""

    def ask(self, work: Sequence[BrokerWork], ask_brokers: AskBrokers) -> pa.Table:
        return pa.Table.from_batches(ask_brokers(work))

    def rank(self, replica_logs: pa.Table) -> pa.Table:
        return ranked_table(replica_logs)
