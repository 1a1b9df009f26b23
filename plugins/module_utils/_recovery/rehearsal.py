# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rehearsal of the whole pipeline on one made-up partition, so that a class archive knows every class it needs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from .._model.partition import Broker, BrokerState, PartitionState, TopicPartition
from .._model.replica_log import EpochEnd, ReplicaLog
from .._spark.session import spark_session
from .gather import gather

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from pyspark.sql import SparkSession

    from .on_spark import OnSpark
    from .rows import ranked_partitions


_DURATION_MS = 10_000


def make_class_archive() -> None:
    """Write the class archive now, for an installation or the build of an image; a complete one is kept.

    Raises SparkUnavailableError.
    """
    with spark_session(rehearse=rehearse, wait_for_class_archive=True):
        pass


def rehearse(spark: SparkSession) -> None:
    """Gather, rank and collect, without a broker."""
    broker = Broker(0, "rehearsal.invalid", 9092, None, is_fenced=False, state=BrokerState.ONLINE)
    partition = PartitionState("rehearsal", 0, "", -1, 0, (0,), (), None, None, ())
    engine = OnSpark(spark)
    logs = gather(engine, "", [broker], [partition], _DURATION_MS, ask=_answer)
    list(ranked_partitions(engine.rank(logs)))


def _answer(
    settings_reference: str, broker: Broker, partitions: Sequence[TopicPartition], deadline: float
) -> list[ReplicaLog]:
    return [
        ReplicaLog(each.topic, each.partition, broker.broker_id, 0, 1, 0, 0, (EpochEnd(0, 1),)) for each in partitions
    ]
