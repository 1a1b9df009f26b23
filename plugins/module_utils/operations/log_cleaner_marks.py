# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which replicas are behind the uncleanable marks: metrics tell how many there are in a directory, and not which."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.facts import LogDirMetrics
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import Cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.copy_reading import check_copy
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.progress import Progress
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner import Cleaner
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_sizes import (
    CopySize,
    copies_in,
    one_look,
)

_OFFSETS = "__consumer_offsets"
_FAILURES_IN_A_ROW = 3
"""After so many, a broker is not asked for more copies of a directory: each may take a request's whole timeout."""


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A replica that is marked, or that somebody has named."""

    topic: str
    partition: int
    broker_id: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


def marked_replicas(  # noqa: PLR0917
    wire: Wire,
    cluster: Cluster,
    cleaners: Sequence[Cleaner],
    max_read_bytes: int,
    progress: Progress,
    stop: threading.Event,
) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """The replicas behind the marks, and in words what could not be found.

    The copies in a directory are read, ``__consumer_offsets`` first and then by how much they exceed other copies,
    until as many are damaged as there are marks. One that cannot be read keeps no other from it, and a broker that
    fails at several in a row no other broker. Setting ``stop`` ends it.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError where no sizes are told.
    """
    copies = one_look(wire, cluster)
    addresses = {each.broker_id: each.address for each in cluster.registrations}
    targets: list[Target] = []
    untold = []
    for cleaner in cleaners:
        for log_dir in cleaner.facts.metrics.log_dirs if cleaner.facts.metrics is not None else ():
            if not log_dir.uncleanable_partitions:
                continue
            here = _most_suspicious_first(copies_in(copies, cleaner.broker_id, {log_dir.log_dir}), copies)
            found, unread, failures = 0, [], 0
            for copy in here:
                if stop.is_set() or found == log_dir.uncleanable_partitions or failures == _FAILURES_IN_A_ROW:
                    break
                partition = TopicPartition(copy.topic, copy.partition)
                progress.step(f"reading the copy of {partition} on broker {cleaner.broker_id}")
                try:
                    read = partial(check_copy, partition=partition, max_bytes=max_read_bytes, stop=stop)
                    check = wire.using(addresses[cleaner.broker_id], read)
                except BrokerCallError as fault:
                    failures += 1
                    unread.append(f"{partition} could not be read: {fault}")
                    continue
                failures = 0
                if check.damage:
                    targets.append(Target(copy.topic, copy.partition, cleaner.broker_id))
                    found += 1
            if found < log_dir.uncleanable_partitions:
                stopped = ["the run was asked to stop before it had read all"] if stop.is_set() else []
                untold.append("; ".join([_untold(cleaner.broker_id, log_dir, found), *unread, *stopped]))
    return tuple(targets), tuple(untold)


def _untold(broker_id: int, log_dir: LogDirMetrics, found: int) -> str:
    return (
        f"broker {broker_id} marks {log_dir.uncleanable_partitions} partitions in {log_dir.log_dir}, and {found} of "
        "its copies are damaged as far as they were read: the broker's log names the others ('Marking its partition'); "
        "name them in partitions"
    )


def _most_suspicious_first(here: Sequence[CopySize], copies: Collection[CopySize]) -> list[CopySize]:
    smallest: dict[tuple[str, int], int] = {}
    for each in copies:
        key = (each.topic, each.partition)
        smallest[key] = min(each.size_bytes, smallest.get(key, each.size_bytes))
    return sorted(
        here,
        key=lambda each: (each.topic != _OFFSETS, smallest[each.topic, each.partition] - each.size_bytes, each.topic),
    )
