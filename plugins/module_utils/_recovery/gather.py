# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gathers what every replica of the offline partitions holds, or why it did not answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress

from .._kafka.native import NativeSource
from .._kafka.private_files import temporary_settings_reference
from .._kafka.replica_logs import silent_rows
from .._kafka.settings import ConnectionSettings
from .._model.partition import Broker, PartitionState
from .._model.run import VERSION, utc_now
from .._spark.workers import Deadline
from .engine import Engine
from .evidence import Evidence
from .gather_work import AskBroker, AskReplicas, BrokerWork, work_by_broker
from .probe_task import AskBrokers
from .survey import Survey

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


def gather_evidence(
    engine: Engine,
    settings: ConnectionSettings,
    found: Survey,
    duration_ms: int,
    *,
    native: NativeSource | None = None,
    settings_reference: str | None = None,
) -> Evidence:
    """One row for each replica of the offline partitions, within ``duration_ms``; a silent one is named too.

    ``native`` has log ends asked by the proposal's own RPC. ``settings_reference`` is the path of a file with the
    connection settings that is there on every host with executors; without it one is made, which only this host has.
    """
    topic_ids = {each.topic: each.topic_id for each in found.offline} if native is not None else {}
    ask = AskReplicas(dict(found.tiered), None if native is None else native.api_key, topic_ids)
    gathered_at = utc_now()
    given = None if settings_reference is None else nullcontext(settings_reference)
    with given or temporary_settings_reference(settings) as reference:
        replica_logs = gather(engine, reference, found.brokers, found.offline, duration_ms, ask=ask)
    return Evidence(found.cluster_id, gathered_at, VERSION, replica_logs, found.offline)
