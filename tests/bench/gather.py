# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gather the logs of surviving replicas, by the pipeline and by bare requests, and rank them by both engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pyarrow as pa

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.private_files import temporary_settings_reference
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import Engine, gather
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import (
    OnSpark,
    make_class_archive,
    open_session,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import OnThisHost
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import Survey, survey
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import SparkOptions
from bench.baselines import raw_gather
from bench.kit.row import CannotMeasureError, Options, Row, Timing
from bench.kit.timing import in_turns, timed
from bench.kit.worlds import offline_cluster
from lab import Cluster

_DURATION_MS = 60_000
_GOAL = 6.0
Replicas = dict[tuple[int, int], raw_gather.Held]
"""By (broker, partition)."""


def run(options: Options) -> Iterator[Row]:
    """Measure gathers in this process, and rankings of what they returned, in a session that has ranked once."""
    make_class_archive()
    with offline_cluster(options.partitions) as (cluster, _offline), ExitStack() as stack:
        settings = settings_from({"bootstrap_servers": cluster.bootstrap()})
        reference = stack.enter_context(temporary_settings_reference(settings))
        with Wire(settings) as wire:
            found = survey(Kafka(wire))
        raw, here = partial(_by_requests, cluster, found), partial(_by_pipeline, OnThisHost(), reference, found)
        logs = here()
        _check_same(logs, raw())
        requests, in_process = in_turns(options.repeats, lambda: timed(raw), lambda: timed(here))
        with open_session(SparkOptions(), is_long=False) as spark:
            by_process, by_spark = in_turns(
                options.repeats,
                lambda: timed(lambda: OnThisHost().rank(logs)),
                lambda: timed(lambda: OnSpark(spark).rank(logs)),
            )
    replicas = f"{options.partitions} partitions on {len(cluster.brokers) - 1} brokers"
    yield Row(Timing(f"raw requests, {replicas}", requests), Timing("in process", in_process), _GOAL)
    yield Row(Timing(f"ranked in process, {replicas}", by_process), Timing("ranked on Spark", by_spark))


def _by_pipeline(engine: Engine, reference: str, found: Survey) -> pa.Table:
    return gather(engine, reference, found.brokers, found.offline, _DURATION_MS)


def _by_requests(cluster: Cluster, found: Survey) -> Replicas:
    held: Replicas = {}
    epochs = {state.partition: state.leader_epoch for state in found.offline}
    for broker in cluster.live_brokers:
        answers = raw_gather.gather(broker.host, broker.ports["PLAINTEXT"], found.offline[0].topic, epochs)
        held.update({(broker.node_id, number): answer for number, answer in answers.items()})
    return held


def _check_same(gathered: pa.Table, held: Replicas) -> None:
    """Raise CannotMeasureError if the two results differ."""
    columns = ("broker_id", "partition", "log_end_offset", "last_written_epoch")
    rows = zip(*(gathered.column(name).to_pylist() for name in columns), strict=True)
    reported = {(broker, number): (end, epoch) for broker, number, end, epoch in rows if end is not None}
    if reported != held:
        raise CannotMeasureError(f"pipeline and raw requests differ: {len(reported)} and {len(held)} replicas")
