# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A program that surveys a cluster, gathers the logs of all replicas of offline partitions, and ranks them."""

from __future__ import annotations

import sys

import pyarrow.compute as pc

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.private_files import temporary_settings_reference
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import set_collector_thresholds
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.engines import Engines
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import gather
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import survey
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import EngineName, EngineOptions

WITHOUT_SPARK = EngineName.PROCESS
ON_SPARK = EngineName.SPARK

_DURATION_MS = 900_000
_REQUEST_TIMEOUT_MS = 300_000


def main(bootstrap: str, where: str) -> None:
    """Print each step when it is done. ``where`` is WITHOUT_SPARK or ON_SPARK, which starts during the survey."""
    set_collector_thresholds()
    settings = settings_from({"bootstrap_servers": bootstrap, "request_timeout_ms": _REQUEST_TIMEOUT_MS})
    options = EngineOptions(EngineName(where), wait_ms=120_000)
    with temporary_settings_reference(settings) as reference, Engines(options) as engine:
        with Wire(settings) as wire:
            found = survey(Kafka(wire), when_offline=engine.begin)
        print("surveyed", flush=True)
        logs = gather(engine, reference, found.brokers, found.offline, _DURATION_MS)
        silent = logs.num_rows - pc.sum(pc.is_null(logs["cause"])).as_py()
        if silent:
            sys.exit(f"{silent} of {logs.num_rows} replicas did not answer: {logs['error'].unique().to_pylist()[:3]}")
        print("gathered", flush=True)
        table = engine.rank(logs)
        first = pc.sum(pc.equal(table["rank"], 1)).as_py()
        if (table.num_rows, first) != (logs.num_rows, len(found.offline)):
            sys.exit(f"{table.num_rows} rows were ranked, {first} of them first, for {len(found.offline)} partitions")
        if engine.use.reason:
            sys.exit(engine.use.reason)
        print("ranked", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
