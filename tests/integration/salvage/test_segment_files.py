# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A salvage uses the segment files that Kafka itself uses when a broker starts on the same disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import list_segments
from lab import Cluster

Interruption = Callable[[Sequence[Path]], None]
"""Leaves the segments of a log as a broker does that dies while it replaces some of them."""
_BATCHES, _BATCH_RECORDS, _RECORD_BYTES = 8, 4, 100_000
"""Each batch is 400 kB, and a segment has two of them."""


def _merged(segments: Sequence[Path]) -> None:
    """Replace the second and the third one by one file. Only the old second one is renamed already."""
    second, third = segments[1:3]
    second.with_suffix(".log.swap").write_bytes(second.read_bytes() + third.read_bytes())
    second.rename(second.with_suffix(".log.deleted"))


def _merged_with_all_old_names(segments: Sequence[Path]) -> None:
    second, third = segments[1:3]
    second.with_suffix(".log.swap").write_bytes(second.read_bytes() + third.read_bytes())


def _not_complete(segments: Sequence[Path]) -> None:
    """Leave the first new file under its first name. So the swap must not be carried out: the third file's is empty."""
    second, third = segments[1:3]
    second.with_suffix(".log.cleaned").write_bytes(second.read_bytes())
    third.with_suffix(".log.swap").write_bytes(b"")


@pytest.mark.wide
@pytest.mark.parametrize("interrupt", [_merged, _merged_with_all_old_names, _not_complete])
def test_an_interrupted_swap_ends_as_kafka_ends_it(cluster: Cluster, interrupt: Interruption) -> None:
    topic, broker = f"swap{interrupt.__name__}", cluster.brokers[2]
    cluster.client.create_topic(topic, {0: [2]}, {"segment.bytes": 1024 * 1024})
    for number in range(_BATCHES):
        cluster.client.produce(topic, 0, _BATCH_RECORDS, label=str(number), record_bytes=_RECORD_BYTES)
    values = cluster.client.consume_all(topic, 0)
    broker.stop()
    (directory,) = (each / f"{topic}-0" for each in broker.data_dirs if (each / f"{topic}-0").is_dir())
    segments = sorted(directory.glob("*.log"))
    assert len(segments) > 3
    interrupt(segments)
    ours = [(each.base_offset, each.size) for each in list_segments(str(directory))]
    broker.start()
    assert cluster.client.consume_all(topic, 0) == values
    kafkas = [(int(each.stem), each.stat().st_size) for each in sorted(directory.glob("*.log"))]
    assert ours == kafkas
