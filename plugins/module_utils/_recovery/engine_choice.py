# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How replicas are asked, and by which engine: the options, and the choice by the number of replicas.

Spark takes seconds to start, and then uses every core, or a cluster: below ``MOST_IN_PROCESS`` replicas, this process
is done before Spark has started, unless the operator chose a Spark. The doc fragment ``gathering`` describes the
options.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .._kafka.native import NativeSource, NativeSourceError
from .._module.arguments import Arguments
from .._module.messages import all_of
from .._module.options import SPARK
from .._model.background import OpenedAhead
from .._spark.options import SparkOptions, SparkOptionsError, given_options
from .gather import Engine, InProcess

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
    """How replicas are asked: by which RPC, and from where."""

    native: NativeSource | None
    spark: SparkOptions | None
    """Where Spark runs, if the operator chose it."""
    settings_reference: str | None
    """Path of the connection settings on the hosts with executors; None where this host's own file will do."""


def gathering(params: Mapping[str, Any]) -> Gathering:
    """Check all sources before anything is started. Raises KafkaOpsError with every problem."""
    native, spark = all_of(lambda: _native_source(params), lambda: _spark_options(params))
    return Gathering(native, spark, (params["spark"] or {}).get("settings_reference"))


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


MOST_IN_PROCESS = 100_000
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
