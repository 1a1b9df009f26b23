# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Start Spark, gather from fake brokers, rank, and print the times: ``python -m bench.kit.first_ranked``.

With ``plain`` it is PySpark as it comes, with ``ours`` the collection's session. The rest is the same to the letter.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    BrokerState,
    PartitionState,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import gather
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import OnSpark, open_session
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import OnThisHost
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import read_ranked_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import SparkOptions
from bench.kit.made_up import made_up_answer

STARTED = "session started"
RANKED = "first ranked result"

OURS = "ours"
PLAIN = "plain"
"""PySpark out of the box, whose tasks ask the brokers in Python workers."""
PLAIN_WITHOUT_WORKERS = "plain, without Python workers"

_BROKERS = (1, 2)
_TOPIC = "bench"
_DURATION_MS = 60_000


def main(kind: str, partitions: int) -> None:
    """Print STARTED and RANKED at these moments. ``kind`` is OURS, PLAIN or PLAIN_WITHOUT_WORKERS."""
    plain = SparkSession.builder.getOrCreate
    with open_session(SparkOptions(), is_long=False) if kind == OURS else plain() as spark:
        print(STARTED, flush=True)
        brokers = [
            Broker(broker_id, "made-up.invalid", 9092, None, is_fenced=False, state=BrokerState.ONLINE)
            for broker_id in _BROKERS
        ]
        states = [
            PartitionState(_TOPIC, number, "", -1, 0, _BROKERS, (), None, None, ()) for number in range(partitions)
        ]
        engine = OnSpark(spark)
        asks = engine if kind == PLAIN else OnThisHost()
        logs = gather(asks, "", brokers, states, _DURATION_MS, ask=made_up_answer)
        best = next(read_ranked_partitions(engine.rank(logs))).candidates[0]
        assert best.broker_id == max(_BROKERS), best
        print(RANKED, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
