# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gather what every replica of the offline partitions holds, or why it did not answer, by one of two engines.

Replicas are asked and ranked in this process, or by Spark's tasks (on_spark.py). Both do the same work with the same
code, and return the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from .._kafka.replica_logs import silent_rows
from .._model.partition import Broker, PartitionState
from .._spark.workers import Deadline
from .probe_task import AskBroker, AskBrokers, AskReplicas, BrokerWork, work_by_broker

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa

    from .rows import ranked_table

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa

    from .rows import REPLICA_LOG_SCHEMA, to_record_batch


_PUBLIC_RPCS = AskReplicas()

_LEAST_SECONDS = 1.0

_LEAST_SHARE = 1 / 3
"""Of the duration. A bastion that is busy with Spark must not call brokers hung that it hardly asked."""


def gather(
    engine: Engine,
    settings_reference: str,
    brokers: Sequence[Broker],
    partitions: Sequence[PartitionState],
    duration_ms: int,
    *,
    ask: AskBroker = _PUBLIC_RPCS,
) -> pa.Table:
    """One row of ``REPLICA_LOG_SCHEMA`` for every replica in the partitions' replica lists: a silent one is named too.

    ``settings_reference`` is the path of the file with the connection settings; it is read where a broker is asked.
    ``duration_ms`` counts from this call; Spark's planning is paid from it, but for the last third. Brokers that cannot
    be asked (no address, unreachable, not authorized) are not; their rows name their state and cause.
    """
    deadline = Deadline.after_ms(duration_ms)
    work = work_by_broker(brokers, partitions)
    to_ask = tuple(item for item in work if item.can_be_asked)
    tables = [REPLICA_LOG_SCHEMA.empty_table(), *(_not_asked(item) for item in work if not item.can_be_asked)]
    if to_ask:
        least_seconds = max(_LEAST_SECONDS, duration_ms * _LEAST_SHARE / 1000)
        tables.append(engine.ask(to_ask, AskBrokers(settings_reference, deadline, least_seconds, ask)))
    return pa.concat_tables(tables)


def _not_asked(item: BrokerWork) -> pa.Table:
    replicas = [*item.replicas()]
    logs = silent_rows(item.broker, [partition for partition, _place in replicas])
    return pa.Table.from_batches(
        [to_record_batch(logs, [place for _partition, place in replicas], item.broker.is_fenced)]
    )


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
