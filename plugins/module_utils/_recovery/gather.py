# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the replicas of offline partitions what they hold, by the engine of the run (``engines.py``).

The doc fragment ``gathering`` describes the options.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from .._kafka.native import NativeSource, NativeSourceError
from .._kafka.replica_logs import silent_rows
from .._model.partition import Broker, PartitionState
from .._module.connection import Arguments
from .._module.options import SPARK
from .._module.run import call_all
from .._spark.options import EngineName, EngineOptions, parse_spark_options, require_settings_reference
from .._spark.workers import Deadline
from .evidence import check_evidence_dir
from .probe_task import AskBroker, AskBrokers, AskReplicas, BrokerWork, divide_by_broker, to_rows
from .rows import Summary

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa

    from .rows import REPLICA_LOG_SCHEMA


_PUBLIC, _NATIVE = "public", "native"

GATHERING = (
    Arguments(
        argument_spec={
            "recovery_duration_ms": {"type": "int", "default": 30000},
            "evidence_dir": {"type": "path"},
            "engine": {
                "type": "str",
                "choices": [each.value for each in EngineName],
                "default": EngineName.SPARK.value,
            },
            "spark_wait_ms": {"type": "int", "default": 10000},
            "replica_log_source": {"type": "str", "choices": [_PUBLIC, _NATIVE], "default": _PUBLIC},
            "replica_log_api_key": {"type": "int", "no_log": False},
        },
    )
    + SPARK
)


@dataclass(frozen=True, slots=True)
class Gathering:
    """The options of a gather."""

    duration_ms: int
    evidence_dir: str | None
    """The directory or URI below which the evidence is stored; None for the user's state directory."""
    native: NativeSource | None
    """The operator's RPC for log ends; None for Kafka's public RPCs."""
    engine: EngineOptions
    settings_reference: str | None
    """Path of the connection settings on the executors' hosts; None if the tasks run on this host."""


def read_gathering_options(params: Mapping[str, Any]) -> Gathering:
    """Read and check the options of a gather. Opens no connection. Raises KafkaOpsError with every problem."""
    evidence_dir = params["evidence_dir"]
    native, engine, _checked = call_all(
        lambda: _read_native_source(params),
        lambda: read_engine_options(params),
        lambda: check_evidence_dir(evidence_dir, by_spark=params["engine"] == EngineName.SPARK),
    )
    reference = (params["spark"] or {}).get("settings_reference")
    return Gathering(params["recovery_duration_ms"], evidence_dir, native, engine, reference)


def _read_native_source(params: Mapping[str, Any]) -> NativeSource | None:
    key, is_native = params["replica_log_api_key"], params["replica_log_source"] == _NATIVE
    if key is None and is_native:
        raise NativeSourceError(
            "replica_log_source is native, and replica_log_api_key does not say under which API key these brokers have "
            "GetReplicaLogInfo: no released Kafka has it, so there is no default"
        )
    if key is not None and not is_native:
        raise NativeSourceError(f"replica_log_api_key is {key}, and replica_log_source is not native")
    return NativeSource(key) if is_native else None


def read_engine_options(params: Mapping[str, Any]) -> EngineOptions:
    """Read which engine ranks, and where Spark runs. Raises SparkOptionsError."""
    spark = parse_spark_options(params["spark"])
    options = EngineOptions(EngineName(params["engine"]), spark, params["spark_wait_ms"])
    asks_brokers = params.get("evidence") is None
    if asks_brokers and not options.where.is_local:
        require_settings_reference(params["spark"], options.where)
    return options


class Engine(Protocol):
    """Asks replicas and ranks their answers."""

    def ask(self, work: Sequence[BrokerWork], ask_brokers: AskBrokers) -> pa.Table:
        """Return one row of ``REPLICA_LOG_SCHEMA`` for every replica in ``work``, which is not empty."""

    def rank(self, replica_logs: pa.Table) -> pa.Table:
        """Return the rows of ``REPLICA_LOG_SCHEMA`` as ``RANKED_SCHEMA``, in any order. Partitions must be complete.

        Spark also compares the replicas: its rows are of ``COMPARED_SCHEMA``.
        """

    def summarize(self, replica_logs: pa.Table) -> Summary:
        """Count the partitions and replicas in rows of ``REPLICA_LOG_SCHEMA``, and the silent ones by cause."""


_PUBLIC_RPCS = AskReplicas()
_LEAST_SECONDS = 1.0
_LEAST_SHARE = 1 / 3
"""The least part of the duration that is left to ask brokers. Otherwise, while Spark's start keeps the bastion busy,
brokers would be reported as hung that were hardly asked."""


def gather(
    engine: Engine,
    settings_reference: str,
    brokers: Sequence[Broker],
    partitions: Sequence[PartitionState],
    duration_ms: int,
    *,
    ask: AskBroker = _PUBLIC_RPCS,
    elsewhere: str | None = None,
    without: Collection[int] = (),
) -> pa.Table:
    """Return a row of ``REPLICA_LOG_SCHEMA`` for every replica of the partitions, also for silent ones.

    ``settings_reference`` is the path of the file with the connection settings on this host, and ``elsewhere`` that on
    the hosts of a Spark cluster.
    ``duration_ms`` counts from this call and includes Spark's planning, which leaves at least a third of it. Brokers
    without an address, unreachable, unauthorized or lost ones are not asked; their rows have the cause. Replicas on the
    brokers ``without`` have no row.
    """
    deadline = Deadline.after_ms(duration_ms)
    work = [each for each in divide_by_broker(brokers, partitions) if each.broker.broker_id not in without]
    to_ask = tuple(item for item in work if item.can_be_asked)
    tables = [REPLICA_LOG_SCHEMA.empty_table(), *(_rows_not_asked(item) for item in work if not item.can_be_asked)]
    if to_ask:
        least_seconds = max(_LEAST_SECONDS, duration_ms * _LEAST_SHARE / 1000)
        tables.append(engine.ask(to_ask, AskBrokers(settings_reference, deadline, least_seconds, ask, elsewhere)))
    return pa.concat_tables(tables)


def _rows_not_asked(item: BrokerWork) -> pa.Table:
    logs = silent_rows(item.broker, [partition for partition, _place in item.replicas()])
    return pa.Table.from_batches([to_rows(item, logs)])
