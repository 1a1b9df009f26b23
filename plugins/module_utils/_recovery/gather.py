# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gather what every replica of the offline partitions holds, or why it did not answer, by one of two engines.

Replicas are asked and ranked in this process, or by Spark's tasks (on_spark.py). Both do the same work with the same
code, and return the same rows. Spark takes seconds to start, and then uses every core, or a cluster. Up to
``MOST_IN_PROCESS`` replicas, this process takes half of Spark's CPU time and memory, and on two cores less time, so it
is used unless the operator chose a Spark.

The doc fragment ``gathering`` describes the options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from .._kafka.native import NativeSource, NativeSourceError
from .._kafka.replica_logs import silent_rows
from .._model.background import OpenedAhead
from .._model.partition import Broker, PartitionState
from .._module.connection import Arguments
from .._module.options import SPARK
from .._module.run import all_of
from .._spark.options import SparkOptions, SparkOptionsError, given_options
from .._spark.workers import Deadline
from .options import refuse_existing_output
from .probe_task import AskBroker, AskBrokers, AskReplicas, BrokerWork, divide_by_broker

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa

    from .rows import REPLICA_LOG_SCHEMA, rank_table, to_record_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_PUBLIC, _NATIVE = "public", "native"

GATHERING = (
    Arguments(
        argument_spec={
            "recovery_duration_ms": {"type": "int", "default": 30000},
            "evidence_dir": {"type": "path"},
            "replica_log_source": {"type": "str", "choices": [_PUBLIC, _NATIVE], "default": _PUBLIC},
            "replica_log_api_key": {"type": "int", "no_log": False},
        },
    )
    + SPARK
)


@dataclass(frozen=True, slots=True)
class Gathering:
    """How replicas are asked: for how long, by which RPC, and from where."""

    duration_ms: int
    evidence_dir: str | None
    """Where to keep what they answered."""
    native: NativeSource | None
    spark: SparkOptions | None
    """Where Spark runs, if the operator chose it."""
    settings_reference: str | None
    """Path of the connection settings on the hosts with executors; None where this host's own file will do."""


def gathering_options(params: Mapping[str, Any]) -> Gathering:
    """Check all sources before anything is started. Raises KafkaOpsError with every problem."""
    evidence_dir = params["evidence_dir"]
    native, spark, _checked = all_of(
        lambda: _native_source(params),
        lambda: _spark_options(params),
        lambda: refuse_existing_output(evidence_dir),
    )
    reference = (params["spark"] or {}).get("settings_reference")
    return Gathering(params["recovery_duration_ms"], evidence_dir, native, spark, reference)


def _native_source(params: Mapping[str, Any]) -> NativeSource | None:
    key, is_native = params["replica_log_api_key"], params["replica_log_source"] == _NATIVE
    if key is None and is_native:
        raise NativeSourceError(
            "replica_log_source is native, and replica_log_api_key does not say under which API key these brokers have "
            "GetReplicaLogInfo: no released Kafka has it, so there is no default"
        )
    if key is not None and not is_native:
        raise NativeSourceError(f"replica_log_api_key is {key}, and replica_log_source is not native")
    return NativeSource(key) if is_native else None


def _spark_options(params: Mapping[str, Any]) -> SparkOptions | None:
    options = given_options(params["spark"])
    if options is None:
        return None
    asks_brokers = params.get("evidence") is None
    if asks_brokers and not options.is_local and params["spark"].get("settings_reference") is None:
        raise SparkOptionsError(
            f"Spark runs at {options.remote or options.master}, so its executors need a file of their own with the "
            "connection settings: put one on each of their hosts, and name it in spark.settings_reference "
            "(docs/spark.md)"
        )
    return options


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
        return rank_table(replica_logs)


MOST_IN_PROCESS = 1_000_000
"""Replicas. docs/benchmarks.md has the measurement."""


class Engines:
    """Chooses the engine by the number of replicas. Use it in a ``with`` block, at whose end Spark ends, if it runs."""

    def __init__(self, options: SparkOptions | None) -> None:
        """``options`` are the operator's own choice of Spark, which is used then for any number of replicas."""
        self._is_chosen = options is not None
        self._ahead = OpenedAhead(lambda: _open_session(options or SparkOptions()), "spark-start")

    def __enter__(self) -> Self:
        self._ahead.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._ahead.__exit__(kind, error, trace)

    def expect(self, replicas: int) -> None:
        """Start Spark in the background, if so many replicas need it. Does not wait for it."""
        if self.need_spark(replicas):
            self._ahead.begin()

    def need_spark(self, replicas: int) -> bool:
        """Return whether so many replicas are asked by Spark. What has begun to start is used."""
        return self._is_chosen or self._ahead.has_begun or replicas > MOST_IN_PROCESS

    def engine_for(self, replicas: int) -> Engine:
        """Return the engine, once it is there.

        Raises SparkUnavailableError.
        """
        if not self.need_spark(replicas):
            return InProcess()
        from .on_spark import OnSpark  # noqa: PLC0415 - PySpark takes half a second to import

        return OnSpark(self._ahead.opened())


def _open_session(options: SparkOptions) -> AbstractContextManager[SparkSession]:
    from .._spark.session import spark_session  # noqa: PLC0415 - see above
    from .on_spark import rehearse  # noqa: PLC0415

    return spark_session(options, rehearse=rehearse)


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
    work = divide_by_broker(brokers, partitions)
    to_ask = tuple(item for item in work if item.can_be_asked)
    tables = [REPLICA_LOG_SCHEMA.empty_table(), *(_rows_not_asked(item) for item in work if not item.can_be_asked)]
    if to_ask:
        least_seconds = max(_LEAST_SECONDS, duration_ms * _LEAST_SHARE / 1000)
        tables.append(engine.ask(to_ask, AskBrokers(settings_reference, deadline, least_seconds, ask)))
    return pa.concat_tables(tables)


def _rows_not_asked(item: BrokerWork) -> pa.Table:
    replicas = [*item.replicas()]
    logs = silent_rows(item.broker, [partition for partition, _place in replicas])
    return pa.Table.from_batches(
        [to_record_batch(logs, [place for _partition, place in replicas], item.broker.is_fenced)]
    )
