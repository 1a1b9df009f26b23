# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Salvage from disks: the time to find the records that only a dead broker holds, in segments that Kafka wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import KafkaException, Producer

from bench.kit.process_tree import ProcessTree
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.timing import timed
from lab import Cluster, wait_until
from lab.module_process import start_module

_GIB = tuple(float(each) for each in os.environ.get("KAFKAOPS_BENCH_SALVAGE_GIB", "0.5,2").split(","))
"""The sizes of the disk's content: a small one, and a larger one to see whether memory grows."""
_CODECS = ("none", "lz4")
_LACKING = (0.0, 0.1)
"""The share of the disk's records that the leader lacks."""
_TOPIC = "bench"
_PARTITIONS = 8
SEGMENT_BYTES = 128 * 1024 * 1024
_RECORD_BYTES = 1000
_DEAD, _LEADER = 1, 2
_READ_BYTES = 4 * 1024 * 1024
_DUMP_TIMEOUT_S = 3600.0
_ISR_TIMEOUT_S = 120.0
_OF_KAFKAS_READER, _OF_THE_DISK = 0.1, 2.0


def run(_options: Options) -> Iterator[Row]:
    """Once each: they take long. Each reads what is on the disk, and not what the page cache has of it.

    The leader holds the same as the disk, or all but the last tenth of it.
    """
    for codec in _CODECS:
        for share in _LACKING:
            found = [_measured(codec, gib, share) for gib in _GIB]
            for disk, dumped, ours in found:
                yield Row(dumped, ours, _OF_KAFKAS_READER)
                yield Row(disk, ours, _OF_THE_DISK)
            yield Row(found[0][-1], found[-1][-1], _GIB[-1] / _GIB[0])


def _measured(codec: str, gib: float, share: float) -> tuple[Timing, Timing, Timing]:
    # On a disk: the lab's own directory is in memory.
    with (
        TemporaryDirectory(prefix="kafkaops-bench-") as directory,
        Cluster(heap="1g", properties={"log.segment.bytes": SEGMENT_BYTES}, base_dir=Path(directory)) as cluster,
    ):
        files = write_segments(cluster, codec, int(gib * 2**30), share)
        what = f"{sum(each.stat().st_size for each in files) / 2**30:.1f} GiB, {codec}, {share:.0%} lacking"
        _forget(files)
        disk = timed(lambda: _read(files))
        _forget(files)
        dumped = timed(lambda: _dump(cluster, files))
        _forget(files)
        ours, most_bytes = _salvaged(cluster, share)
        return (
            Timing(f"one file read after the other, {what}", [disk]),
            Timing(f"DumpLogSegments --deep-iteration, {what}", [dumped]),
            Timing(f"replica_log_salvage in check mode, {what}, at most {most_bytes / 2**30:.1f} GiB", [ours]),
        )


def write_segments(cluster: Cluster, codec: str, size: int, share: float) -> list[Path]:
    """Write about so many bytes of records, and return the segments of a broker that is dead then.

    The other broker is elected. It lacks the last ``share`` of the records.
    """
    assignment = dict.fromkeys(range(_PARTITIONS), (_DEAD, _LEADER))
    cluster.client.create_topic(_TOPIC, assignment, {"min.insync.replicas": 1, "retention.ms": -1})
    records = size // _RECORD_BYTES
    to_both = records - int(records * share)
    _produce(cluster, codec, range(to_both))
    leader = cluster.brokers[_LEADER]
    if share:
        leader.freeze()
        wait_until(lambda: _in_sync(cluster, _DEAD) == {_DEAD}, _ISR_TIMEOUT_S, what="the frozen broker left the ISR")
        _produce(cluster, codec, range(to_both, records))
    cluster.brokers[_DEAD].kill()
    if share:
        leader.thaw()
        wait_until(lambda: _elected(cluster), _ISR_TIMEOUT_S, what="the other broker was elected")
    found = (each.glob(f"{_TOPIC}-*/*.log") for each in cluster.brokers[_DEAD].data_dirs)
    return sorted(path for paths in found for path in paths)


def _in_sync(cluster: Cluster, seen_by: int) -> set[int]:
    described = cluster.client.describe(_TOPIC, broker=seen_by)
    return {broker for each in described.values() for broker in each.isr}


def _elected(cluster: Cluster) -> bool:
    """Elect leaders for all offline partitions. Kafka refuses this until the broker is unfenced."""
    states = cluster.client.describe(_TOPIC, broker=_LEADER)
    offline = [number for number, each in states.items() if each.leader is None]
    if offline:
        with suppress(KafkaException):
            cluster.client.elect_unclean(_TOPIC, offline)
    return all(each.leader == _LEADER for each in states.values())


def _produce(cluster: Cluster, codec: str, numbers: range) -> None:
    settings = {"acks": "all", "compression.type": codec, "linger.ms": 50, "batch.size": 1_000_000}
    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "queue.buffering.max.kbytes": 262_144, **settings})
    # Half of it can be compressed, like most real data.
    values = [os.urandom(_RECORD_BYTES // 2) + bytes(_RECORD_BYTES // 2) for _each in range(1000)]
    for number in numbers:
        while True:
            try:
                producer.produce(_TOPIC, values[number % len(values)], partition=number % _PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120):
        raise CannotMeasureError("not all records were written")


def _forget(files: Sequence[Path]) -> None:
    """Drop the files from the page cache."""
    for path in files:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _read(files: Sequence[Path]) -> None:
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.read(_READ_BYTES):
                pass


def _dump(cluster: Cluster, files: Sequence[Path]) -> None:
    """Read the files with Kafka's own tool, and discard its output."""
    dumped = cluster.client.run_tool(
        "kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(map(str, files)), timeout=_DUMP_TIMEOUT_S
    )
    if dumped.returncode:
        raise CannotMeasureError(f"DumpLogSegments ended with {dumped.returncode}: {dumped.stderr[-500:]}")


def _salvaged(cluster: Cluster, share: float) -> tuple[Run, int]:
    """Run the module from process start to end. Also returns the peak memory of all its processes, in bytes."""
    with TemporaryDirectory() as scratch:
        options = {
            "bootstrap_servers": [cluster.bootstrap()],
            "log_dirs": [str(each) for each in cluster.brokers[_DEAD].data_dirs],
            "salvage_dir": str(Path(scratch, "saved")),
            "topics": [_TOPIC],
        }
        said: list[tuple[str, str]] = []
        process = start_module("replica_log_salvage", options, check_mode=True)
        with ProcessTree(process.pid) as tree:
            spent = timed(lambda: said.append(process.communicate()))
    output, errors = said[0]
    results = json.loads(output)
    expected = "would_be_saved" if share else "nothing_lacking"
    if [each["status"] for each in results.get("partitions", [])] != [expected] * _PARTITIONS:
        raise CannotMeasureError(f"{output[-2000:]}{errors[-2000:]}")
    return spent, tree.most_bytes
