# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rehearsal of the whole pipeline on one made-up partition, so that a class archive knows every class it needs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import EpochEnd, ReplicaLog
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.collect import ranked_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.gather import gather
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.ranking import ranked

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from pyspark.sql import SparkSession

    from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.schemas import REPLICA_LOG_SCHEMA

_DURATION_MS = 10_000


def rehearse(spark: SparkSession) -> None:
    """Gathers, ranks and collects, without a broker."""
    broker = Broker(0, "rehearsal.invalid", 9092, None, is_fenced=False, state=BrokerState.ONLINE)
    partition = PartitionState("rehearsal", 0, "", -1, 0, (0,), (), None, None, ())
    logs = gather(spark, "", [broker], [partition], _DURATION_MS, ask=_answer)
    list(ranked_partitions(ranked(spark.createDataFrame(logs, REPLICA_LOG_SCHEMA))))


def _answer(
    settings_reference: str, broker: Broker, partitions: Sequence[TopicPartition], deadline: float
) -> list[ReplicaLog]:
    return [
        ReplicaLog(each.topic, each.partition, broker.broker_id, 0, 1, 0, 0, (EpochEnd(0, 1),)) for each in partitions
    ]
