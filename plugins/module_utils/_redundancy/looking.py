# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what a plan is made from: partitions, brokers, their log directories, and running reassignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from .._kafka.cluster import Cluster
from .._kafka.errors import CallError
from .._kafka.log_dir_space import LogDirSpace
from .._kafka.port import Kafka
from .._model.partition import Broker, PartitionState, Reassignment, TopicPartition
from .._model.reasons import join_first, plural
from .._model.run import looks
from .cluster_now import ClusterNow, DirWithSpace, WantedReplicas

_BEHIND_S = 3.0
"""A broker that is longer behind the controller is not waited for."""
_SAME_SPACE = 1000
"""Two readings of a volume's free space differ by less than this part of its size."""


def look(kafka: Kafka, cluster: Cluster, brokers: tuple[Broker, ...]) -> ClusterNow:
    """Return the cluster as it is now. Internal topics are included.

    Raises NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
    """
    reassignments, states = _read_partitions(kafka)
    known = {each.broker_id for each in brokers}
    mentioned = frozenset(each for state in states for each in state.replicas) - known
    everyone = (*brokers, *kafka.probe_brokers(cluster, mentioned)) if mentioned else brokers
    by_id = {each.broker_id: each for each in everyone}
    live = cluster.online(brokers)

    def space_of(broker_id: int) -> tuple[LogDirSpace, ...] | CallError:
        try:
            return kafka.describe_log_dir_space(live[broker_id])
        except CallError as error:
            return error

    answers = kafka.in_parallel(space_of, live)
    sizes: Counter[TopicPartition] = Counter()
    log_dirs: dict[int, tuple[DirWithSpace, ...]] = {}
    # Such a broker would begin to copy only when it knows of the replica.
    late = kafka.find_late(live)
    why_no_dirs = {each: f"it applies metadata late: {lacks}" for each, lacks in late.items()}
    for broker_id, answer in answers.items():
        if not isinstance(answer, tuple):
            why_no_dirs[broker_id] = f"its log directories could not be read: {answer}"
            continue
        for each in answer:
            for partition, size in each.sizes.items():
                sizes[partition] = max(size, sizes[partition])
    for broker_id, answer in answers.items():
        if not isinstance(answer, tuple) or broker_id in late:
            continue
        usable = tuple(
            DirWithSpace(
                each.path,
                each.total_bytes,
                each.usable_bytes,
                sum((*each.sizes.values(), *each.future_sizes.values())),
                _still_to_come(each, broker_id, sizes, reassignments),
                len(each.sizes) + len(each.future_sizes),
            )
            for each in answer
            if not each.error
            and not each.is_cordoned
            and each.total_bytes is not None
            and each.usable_bytes is not None
        )
        log_dirs[broker_id] = usable
        if not usable:
            why_no_dirs[broker_id] = "; ".join(_why_not(each) for each in answer)
    topics = {each.topic for each in states}
    hidden = kafka.hidden_among({each.topic for each in sizes} - topics)
    return ClusterNow(
        states=states,
        brokers=tuple(by_id[each] for each in sorted(by_id)),
        reassignments=reassignments,
        min_isr=kafka.min_insync_replicas(topics, live),
        sizes=sizes,
        log_dirs=log_dirs,
        why_no_dirs=why_no_dirs,
        hidden=tuple(sorted(each for each in sizes if each.topic in hidden)),
        registered=frozenset(cluster.addresses) if cluster.lists_fenced else None,
    )


def _still_to_come(
    log_dir: LogDirSpace,
    broker_id: int,
    sizes: Mapping[TopicPartition, int],
    reassignments: Mapping[TopicPartition, Reassignment],
) -> int:
    """Return the bytes that running copies will still need in a log directory.

    Such a copy is a future replica, or one that a reassignment adds. It grows to the size of the largest copy.
    """
    nothing = Reassignment()
    copies = [*log_dir.future_sizes.items()]
    copies += [item for item in log_dir.sizes.items() if broker_id in reassignments.get(item[0], nothing).adding]
    return sum(max(0, sizes.get(partition, 0) - size) for partition, size in copies)


def _read_partitions(kafka: Kafka) -> tuple[Mapping[TopicPartition, Reassignment], tuple[PartitionState, ...]]:
    """Read the running reassignments, and after them the partitions.

    A reassignment that has completed leaves the replicas that it removes in the metadata of a broker that is behind the
    controller. They would count as lost. So partitions with more replicas than others of their topic are read again.
    """
    reassignments: Mapping[TopicPartition, Reassignment] = {}
    states: tuple[PartitionState, ...] = ()
    for _look in looks(kafka.clock, _BEHIND_S):
        reassignments = kafka.all_reassignments()
        states = kafka.describe_partitions().partitions
        sizes: dict[str, dict[TopicPartition, int]] = {}
        for each in states:
            removed = reassignments.get(each.topic_partition, Reassignment()).removing
            sizes.setdefault(each.topic, {})[each.topic_partition] = len({*each.replicas} - {*removed})
        if all(len({*of_topic.values()}) == 1 for of_topic in sizes.values()):
            break
    return reassignments, states


def explain_brokers(found: ClusterNow, wish: WantedReplicas) -> Iterator[str]:
    """Yield what differs from the operator's declaration: brokers that are up again, and others that do not answer."""
    held = Counter(each for state in found.states for each in state.replicas)
    behind = Counter(each for state in found.states for each in state.replicas if each not in state.isr)
    # On a broker that is up, they are in a log directory that is offline.
    offline = Counter(each for state in found.states for each in state.offline_replicas if each in found.live)
    for each in sorted(wish.lost_brokers):
        if not held[each]:
            yield f"broker {each} was declared lost, and no partition has a replica on it"
        if each in found.live:
            but = f", except the {offline[each]} that are offline" if offline[each] else ""
            lagging = behind[each] - offline[each]
            late = f"; {lagging} of {held[each] - offline[each]} are not in sync yet" if lagging > 0 else ""
            yield f"broker {each} was declared lost, and is up: its replicas stay{but}{late}"
    for broker in found.brokers if wish.only_of_lost_brokers else ():
        broker_id = broker.broker_id
        if broker_id in wish.lost_brokers or not held[broker_id]:
            continue
        if offline[broker_id]:
            yield (
                f"broker {broker_id} is up, and was not declared lost: {plural(offline[broker_id], 'replica', 'are')} "
                "offline on it, and not replaced: look at its log directories"
            )
        elif broker_id not in found.live:
            yield (
                f"broker {broker_id} is {describe_state(broker)}, and was not declared lost: its "
                f"{plural(held[broker_id], 'replica', 'stay')}; not in sync: {behind[broker_id]}"
            )


def explain_volumes(found: ClusterNow) -> Iterator[str]:
    """Yield where a volume would be too small if several log directories of a broker are on it. Call it after the plan.

    A broker does not say which directories share a volume. Those that may do so have the same size, and the same free
    space but for what is written between two readings, and the volume holds what is in all of them.
    """
    for broker_id, dirs in found.log_dirs.items():
        left = sorted(dirs, key=lambda each: (each.total_bytes, each.free_bytes))
        while left:
            first, *rest = left
            alike = [
                each
                for each in rest
                if each.total_bytes == first.total_bytes
                and each.free_bytes - first.free_bytes <= first.total_bytes // _SAME_SPACE
            ]
            left = [each for each in rest if each not in alike]
            used, to_come = first.total_bytes - first.free_bytes, sum(each.to_come_bytes for each in (first, *alike))
            may_share = alike and sum(each.held_bytes for each in (first, *alike)) <= used
            if may_share and to_come > first.free_bytes:
                paths = ", ".join(each.path for each in (first, *alike))
                yield (
                    f"broker {broker_id}: {paths} have the same size and the same free space. If they are on one "
                    f"volume, it is too small: {first.free_bytes:,} bytes are free, and {to_come:,} are to be copied "
                    "to it"
                )


def describe_state(broker: Broker) -> str:
    """Return the state of a broker that does not answer, and why it is in this state."""
    return broker.state.words + (f" ({broker.cause})" if broker.cause else "")


def explain_not_read(found: ClusterNow) -> Iterator[str]:
    """Yield what the plan does not rest on, because our principal may not read it."""
    unknown = sorted({each.topic for each in found.states} - found.min_isr.keys())
    if unknown:
        yield (
            f"min.insync.replicas of topics {join_first(unknown)} is unknown, so their partitions may not come first. "
            "Grant DESCRIBE_CONFIGS on them"
        )


def _why_not(log_dir: LogDirSpace) -> str:
    if log_dir.error:
        return f"{log_dir.path} is offline: {log_dir.error}"
    if log_dir.is_cordoned:
        return f"{log_dir.path} is cordoned"
    return f"the space of {log_dir.path} is unknown"
