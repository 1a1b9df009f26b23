# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Recognize a leader whose disk was replaced, while all other replicas are down. Pure; standard library only.

The controller elects a member of the ISR or ELR that returns, also with an empty disk. It then leads an empty log, and
every other replica that is started deletes all its records. Only the beginnings of the logs show this.

A log that has records of the first leader epoch, or whose start offset has moved, is older than the last change of its
leader. A log without them is blank: the disk was replaced, or the partition got its first records late, or none. So
the logs of one log directory are looked at together. If one of them is old, the directory is, and its blank logs prove
nothing. If none is, the directory seems to be new. A group that committed an offset beyond the end of a blank log
proves it without the others.

An old log may end too early, too: the disk was restored from an older image, or an unclean election lost its tail. Only
a commit beyond its end shows that. The other replicas may hold the tail, unless the operator declares them lost.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from .partition import Broker, OfPartition, PartitionState, TopicPartition, grouped
from .reasons import name_brokers, plural

_MOST_NAMED = 3


def doubt_elections(missing: str, *, is_running: bool = False) -> str:
    """Return what to say before a broker is started whose ``unclean_elections`` are None.

    One that ``is_running`` restarts with a log directory that is offline now.
    """
    why = f", because {missing}" if missing else ""
    since, what = "it stopped", "its disk first: it"
    if is_running:
        since, what = "the directory failed", "the directory first: the broker"
    return (
        f"It is not known whether another partition's leader was elected uncleanly since {since}{why}. If one was, "
        f"save {what} deletes what that leader lacks."
    )


@dataclass(frozen=True, slots=True)
class LogBeginning(OfPartition):
    """How one replica's log begins. Offsets are record offsets."""

    topic: str
    partition: int
    broker_id: int
    log_dir: str | None
    """Path of its log directory. None if it could not be read."""
    log_start_offset: int
    log_end_offset: int
    leader_epoch: int
    """The partition's current leader epoch, as this broker knows it."""
    first_epoch_end: int | None
    """The offset after the last record of leader epoch 0; 0 if the log has no such record. None if it is unknown."""

    @property
    def is_old(self) -> bool:
        """Return whether the log has existed since before the last change of the leader."""
        return self.leader_epoch > 0 and (self.log_start_offset > 0 or bool(self.first_epoch_end))

    @property
    def is_blank(self) -> bool:
        """Return whether the log has no record of the time before the last change of the leader."""
        is_empty = self.log_end_offset == 0
        return self.leader_epoch > 0 and self.log_start_offset == 0 and (is_empty or self.first_epoch_end == 0)


def brokers_to_save(
    states: Iterable[PartitionState], replaced: Container[TopicPartition], brokers: Iterable[Broker]
) -> frozenset[int]:
    """Return the brokers whose disks must be saved before they are started, because leaders may lack their records.

    These are the others of the ``replaced`` leaders, and those that are away since an unclean election.
    """
    found = (each for each in states if each.topic_partition in replaced)
    others = {broker_id for each in found for broker_id in each.replicas if broker_id != each.leader_id}
    return frozenset(others.union(each.broker_id for each in brokers if each.unclean_elections))


def name_replaced(reasons: Mapping[TopicPartition, str]) -> Iterator[str]:
    """Yield a note for each of the first partitions whose leader seems to have a new disk."""
    for partition, reason in sorted(reasons.items())[:_MOST_NAMED]:
        yield f"{partition}: {reason}"


def leads_alone(state: PartitionState) -> bool:
    """Return whether the partition has a leader and other replicas, and all others are offline."""
    others = _others(state)
    return not state.is_offline and bool(others) and others <= {*state.offline_replicas}


def explain_replaced(
    logs: Iterable[LogBeginning],
    led: Mapping[TopicPartition, PartitionState],
    commits: Mapping[TopicPartition, str],
    lost: Collection[int],
) -> Iterator[tuple[TopicPartition, str]]:
    """Yield the partitions of ``led`` whose leader's log seems to be on a new disk, or to end too early, and why.

    ``logs`` are those of the leaders, and of their other replicas that no living broker can have copied to them.
    ``led`` are partitions whose other replicas are all offline. ``commits`` say which group committed an offset beyond
    the end of which leader's log. ``lost`` are brokers whose disks the operator declares lost.
    """
    for (broker_id, log_dir), found in grouped(((each.broker_id, each.log_dir), each) for each in logs).items():
        is_old = any(each.is_old for each in found)
        for log in found:
            state = led.get(log.topic_partition)
            if state is None or state.leader_id != broker_id:
                continue
            commit = commits.get(log.topic_partition)
            if not log.is_blank:
                if commit and not _others(state) <= {*lost}:
                    yield log.topic_partition, _explain_early_end(log, state, commit)
                continue
            if is_old and commit is None:
                continue
            where = f"no log in {log_dir} of broker {broker_id}" if log_dir else f"no log of broker {broker_id}"
            because = commit or f"{where} has records of an earlier epoch"
            yield log.topic_partition, _explain(log, state, because)


def _others(state: PartitionState) -> set[int]:
    return {*state.replicas} - {state.leader_id}


def _explain_early_end(log: LogBeginning, state: PartitionState, commit: str) -> str:
    return (
        f"broker {log.broker_id} leads it alone, and {commit}: its disk seems to be an older copy, or an unclean "
        f"election lost the end of the log. {_advise(state)}"
    )


def _explain(log: LogBeginning, state: PartitionState, because: str) -> str:
    held = (
        "is empty" if log.log_end_offset == 0 else f"has {plural(log.log_end_offset, 'record')}, none of leader epoch 0"
    )
    return (
        f"broker {log.broker_id} leads it alone, and its log {held}, although the leader epoch is {log.leader_epoch}; "
        f"{because}: its disk seems to have been replaced. {_advise(state)}"
    )


def _advise(state: PartitionState) -> str:
    return (
        f"{name_brokers(_others(state)).capitalize()} may hold the records, and would delete them when started: save "
        "their disks first (kafkaops.recovery.salvage_logs), and start them later"
    )
