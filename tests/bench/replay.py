# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replay saved records, compared with the same producer that writes generated records."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import Producer

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replay import Replayer, ReplayRequest
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replayed import Target, find_not_done
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.targets import ReplayTerms
from bench.baselines.generated_records import Generated, write_generated
from bench.kit.phases import Phases
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.timing import in_turns
from lab import Cluster
from lab.module_process import run_module
from lab.waiting import wait_until

_RECORDS = int(os.environ.get("KAFKAOPS_BENCH_REPLAY_RECORDS", "500000"))
_RECORD_BYTES = 1000
_PARTITIONS = 8
_TOPIC, _SIDE_TOPIC = "bench", "bench.salvaged"
_DEAD, _FROZEN, _OTHER = 1, 2, 3
_GOAL = 1.25
"""80 % of the rate: of records a second, while records are written."""
_WRITING = "giving records back"
"""The step of a replay that writes."""
_MOST_REPEATS = 3
_TIMEOUT_S = 60.0


def run(options: Options) -> Iterator[Row]:
    """Give the same salvage back again and again, each time under another progress topic, and to a new side topic.

    The baseline writes as many records, of the same size, headers included, to a topic of the same shape, in
    transactions that are as large.
    """
    numbers = count()
    # On a disk: the lab's own directory is in memory.
    with TemporaryDirectory(prefix="kafkaops-bench-") as name, Cluster(heap="1g", base_dir=Path(name)) as cluster:
        saved = _salvage(cluster, Path(name))
        settings = settings_from({"bootstrap_servers": cluster.bootstrap()})
        bare = Generated(_RECORDS, _PARTITIONS, _RECORD_BYTES, with_headers=False)
        alike = Generated(_RECORDS, _PARTITIONS, _RECORD_BYTES, with_headers=True)
        for topic in ("first", "bare", "alike"):
            shape = dict.fromkeys(range(_PARTITIONS), (_FROZEN, _OTHER))
            cluster.client.create_topic(topic, shape, {"min.insync.replicas": 1, "retention.ms": -1})
        # Wait until coordinators of transactions are elected and have loaded their logs.
        write_generated(settings, "first", Generated(1, 1, 1, with_headers=False))
        without, with_headers, given = in_turns(
            min(options.repeats, _MOST_REPEATS),
            lambda: write_generated(settings, "bare", bare),
            lambda: write_generated(settings, "alike", alike),
            lambda: _give_back(cluster, settings, saved, f"_progress_{next(numbers)}"),
        )
    what = f"{_RECORDS:,} records of {_RECORD_BYTES} bytes"
    alike_written = Timing(f"{what} generated, with seven headers each", with_headers)
    written = [Run(each.phases[_WRITING]) for each in given]
    yield Row(alike_written, Timing(f"{what} given back, while they are written", written), _GOAL)
    whole = Timing(f"{what} given back, from the look at the cluster on", given)
    yield Row(alike_written, whole)
    yield Row(Timing(f"{what} generated, without headers", without), whole)


def _salvage(cluster: Cluster, directory: Path) -> Path:
    """Write the records to one broker only, kill it, and salvage its disk."""
    cluster.client.create_topic(
        _TOPIC, dict.fromkeys(range(_PARTITIONS), (_DEAD, _FROZEN)), {"min.insync.replicas": 1, "retention.ms": -1}
    )
    cluster.brokers[_FROZEN].freeze()
    wait_until(
        lambda: all(set(each.isr) == {_DEAD} for each in cluster.client.describe(_TOPIC, broker=_DEAD).values()),
        _TIMEOUT_S,
        what="only one broker is in sync",
    )
    _write(cluster)
    cluster.brokers[_DEAD].kill()
    cluster.brokers[_FROZEN].thaw()
    wait_until(
        lambda: all(
            each.leader is None and set(each.offline_replicas) == {_DEAD}
            for each in cluster.client.describe(_TOPIC, broker=_FROZEN).values()
        ),
        _TIMEOUT_S,
        what="the topic is offline",
    )
    cluster.client.elect_unclean(_TOPIC, range(_PARTITIONS))
    saved = directory / "saved"
    done = run_module(
        "replica_log_salvage",
        {
            "bootstrap_servers": [cluster.bootstrap()],
            "log_dirs": [str(each) for each in cluster.brokers[_DEAD].data_dirs],
            "salvage_dir": str(saved),
            "topics": [_TOPIC],
        },
    )
    if sum((each["saved"] or {}).get("records", 0) for each in done.get("partitions", [])) != _RECORDS:
        raise CannotMeasureError(f"not all was saved: {str(done)[-2000:]}")
    return saved


def _write(cluster: Cluster) -> None:
    settings = {"acks": "all", "compression.type": "lz4", "linger.ms": 50}
    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "queue.buffering.max.kbytes": 262_144, **settings})
    # Half of it can be compressed, like most real data.
    values = [os.urandom(_RECORD_BYTES // 2 - 16) + bytes(_RECORD_BYTES // 2) for _each in range(1000)]
    for number in range(_RECORDS):
        while True:
            try:
                producer.produce(
                    _TOPIC, b"%016d" % number + values[number % len(values)], partition=number % _PARTITIONS
                )
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120):
        raise CannotMeasureError("not all records were written")


def _give_back(cluster: Cluster, settings: ConnectionSettings, saved: Path, progress_topic: str) -> Run:
    """Replay everything: read, lock, verify, count and write."""
    if cluster.client.describe(_SIDE_TOPIC, broker=_FROZEN):
        # What it has of an earlier round would not be given back again.
        cluster.client.delete_topic(_SIDE_TOPIC)
    phases = Phases()
    with Wire(settings) as wire:
        terms = ReplayTerms(Target.SIDE, include_unknown=False, include_compacted=False)
        request = ReplayRequest(str(saved), None, terms, 0, progress_topic, JournalOptions())
        began = time.perf_counter()
        done = Replayer(Kafka(wire), request, phases, threading.Event()).give_back()
        seconds = time.perf_counter() - began
    if find_not_done(done.partitions) or sum(each.given for each in done.partitions) != _RECORDS:
        raise CannotMeasureError(f"not all was given back: {done.partitions}")
    return Run(seconds, phases.end())
