# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge the histories of clients, as Jepsen's workload for Kafka does. Pure; standard library only.

The names of the anomalies are Jepsen's (jepsen.tests.kafka). There, a lost write is one that was acknowledged and never
polled, although later offsets were. Here the partitions are read from beginning to end afterwards, so that a lost write
is simply one that is not there. What an unclean election had to lose (``Truth``) is no anomaly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise

from campaign.clients.history import History, Outcome, Partition, Read, Reader, Truth, Write


@dataclass
class Anomalies:
    """Every anomaly of a history, in words."""

    lost_writes: list[str] = field(default_factory=list)
    """Acknowledged records that no consumer gets at the end."""
    duplicates: list[str] = field(default_factory=list)
    """Records of idempotent producers that are there twice."""
    inconsistent_offsets: list[str] = field(default_factory=list)
    """Offsets at which two clients saw different records of one leader epoch, or the producer another one."""
    aborted_reads: list[str] = field(default_factory=list)
    """Records of aborted transactions that a consumer of committed records got."""
    unseen: list[str] = field(default_factory=list)
    """Records that are there, and that a consumer passed over."""
    disorders: list[str] = field(default_factory=list)
    """Records of one producer that are not in the order in which it sent them."""
    repeated_polls: list[str] = field(default_factory=list)
    """Consumers that went back in a partition whose log was not truncated."""
    lost_commits: list[str] = field(default_factory=list)
    """Groups whose committed offset at the end is older than one that was acknowledged."""

    def counts(self) -> dict[str, int]:
        return {each.name: len(getattr(self, each.name)) for each in fields(self)}

    def texts(self) -> list[str]:
        return [f"{each.name}: {text}" for each in fields(self) for text in getattr(self, each.name)]

    def __bool__(self) -> bool:
        return any(self.counts().values())


def judge(history: History, truth: Truth) -> Anomalies:
    """Return the anomalies of a history. ``truth`` says what the election had to lose."""
    found = Anomalies()
    found.lost_writes += _lost_writes(history, truth)
    found.duplicates += _duplicates(history)
    found.inconsistent_offsets += _inconsistent_offsets(history, truth)
    found.aborted_reads += _aborted_reads(history, truth)
    found.unseen += _unseen(history, truth)
    found.disorders += _disorders(history)
    found.repeated_polls += _repeated_polls(history, truth)
    found.lost_commits += _lost_commits(history, truth)
    return found


def is_acknowledged(history: History, write: Write) -> bool:
    """Return whether the producer was promised that this record stays: with its transaction, if it has one."""
    committed = not write.transaction or history.transactions.get(write.transaction) is Outcome.OK
    return write.outcome is Outcome.OK and committed


def is_behind_open_transaction(history: History, write: Write) -> bool:
    """Return whether a record is there, and no consumer of committed records gets it, although it is acknowledged."""

    def has(left: Mapping[Partition, Sequence[Read]]) -> bool:
        return any(each.value == write.value for each in left.get(write.partition, ()))

    return is_acknowledged(history, write) and has(history.left) and not has(history.left_committed)


def _lost_writes(history: History, truth: Truth) -> Iterator[str]:
    left = {partition: {each.value for each in reads} for partition, reads in history.left_committed.items()}
    for write in history.writes:
        if write.transaction and truth.outcomes_lost:
            continue
        is_read = write.partition not in left or write.value in left[write.partition]
        if is_acknowledged(history, write) and not is_read and not truth.excuses(write.partition, write.value):
            is_hidden = is_behind_open_transaction(history, write)
            if is_hidden and truth.hides:
                continue
            where = ", and is behind an open transaction" if is_hidden else ""
            yield f"{_name(write.partition)}: {write.value} was acknowledged at offset {write.offset}{where}"


def _duplicates(history: History) -> Iterator[str]:
    may_repeat = {each.value for each in history.writes if each.may_repeat}
    for partition, reads in history.left.items():
        for value, count in Counter(each.value for each in reads).items():
            if count > 1 and value not in may_repeat:
                yield f"{_name(partition)}: {value} is there {count} times"


def _inconsistent_offsets(history: History, truth: Truth) -> Iterator[str]:
    by_epoch: defaultdict[tuple[Partition, int, int], set[str]] = defaultdict(set)
    for read in _all_reads(history):
        if read.epoch is not None:
            by_epoch[read.partition, read.offset, read.epoch].add(read.value)
    for (partition, offset, epoch), values in by_epoch.items():
        if len(values) > 1:
            yield f"{_name(partition)}: offset {offset} of epoch {epoch} is {_either(values)}"
    at_end = {(each.partition, each.offset): each.value for reads in history.left.values() for each in reads}
    there = {(each.partition, each.value) for reads in history.left.values() for each in reads}
    for write in history.writes:
        if write.outcome is not Outcome.OK or write.offset is None or truth.excuses(write.partition, write.value):
            continue
        if write.may_repeat and truth.is_truncated(write.partition) and (write.partition, write.value) in there:
            # It was written twice, and the copy that was acknowledged was lost with the end of the log.
            continue
        found = at_end.get((write.partition, write.offset), write.value)
        if found != write.value:
            yield f"{_name(write.partition)}: {write.value} was acknowledged at offset {write.offset}, which is {found}"


def _aborted_reads(history: History, truth: Truth) -> Iterator[str]:
    if truth.outcomes_lost:
        return
    aborted = {
        each.value: each.transaction
        for each in history.writes
        if each.transaction and history.transactions.get(each.transaction) is Outcome.FAILED
    }
    committed = [(each.name, each.reads) for each in history.readers if each.is_committed]
    at_end = [("the last consumer", [each for reads in history.left_committed.values() for each in reads])]
    for name, reads in (*committed, *at_end):
        for read in reads:
            # If the election lost the ABORT marker, the producer's next COMMIT marker ends this transaction, too.
            if read.value in aborted and read.value not in truth.undecided.get(read.partition, ()):
                yield f"{_name(read.partition)}: {name} got {read.value} of {aborted[read.value]}, which was aborted"


def _unseen(history: History, truth: Truth) -> Iterator[str]:
    """Yield what consumers passed over. After a truncation, they may miss what takes the place of lost records."""
    for reader in history.readers:
        if not reader.caught_up or (reader.is_share and truth.shares_lost):
            continue
        seen = {(each.partition, each.value) for each in reader.reads}
        left = history.left_committed if reader.is_committed else history.left
        for partition, reads in left.items():
            for read in reads:
                if (partition, read.value) not in seen and not truth.is_truncated(partition):
                    yield f"{_name(partition)}: {reader.name} did not get {read.value} at offset {read.offset}"


def _disorders(history: History) -> Iterator[str]:
    order: defaultdict[tuple[str, Partition], list[str]] = defaultdict(list)
    for write in history.writes:
        if not write.may_repeat and write.outcome is Outcome.OK and write.offset is not None:
            order[write.producer, write.partition].append(write.value)
    for (producer, partition), values in order.items():
        at = _first_offsets(history.left.get(partition, ()))
        there = [each for each in values if each in at]
        for one, other in pairwise(there):
            if at[one] > at[other]:
                yield f"{_name(partition)}: {producer} sent {one} before {other}, which is before it"


def _repeated_polls(history: History, truth: Truth) -> Iterator[str]:
    for reader in history.readers:
        for each in reader.again:
            if not (truth.is_truncated(each.partition) or truth.shares_lost):
                yield f"{_name(each.partition)}: {reader.name} got {each.value} again, which it had acknowledged"
        for partition, reads in _by_partition(reader).items():
            if reader.may_repeat or truth.is_truncated(partition):
                continue
            for one, other in pairwise(reads):
                if other.offset <= one.offset:
                    yield f"{_name(partition)}: {reader.name} got offset {other.offset} after {one.offset}"


def _lost_commits(history: History, truth: Truth) -> Iterator[str]:
    if truth.commits_lost:
        return
    for (group, partition), offsets in history.commits.items():
        found = history.committed_at_end.get((group, partition))
        if offsets and found is not None and found < offsets[-1]:
            yield f"{_name(partition)}: group {group} committed {offsets[-1]}, and has {found}"


def _all_reads(history: History) -> Iterator[Read]:
    for reader in history.readers:
        yield from reader.reads
    for reads in history.left.values():
        yield from reads


def _by_partition(reader: Reader) -> Mapping[Partition, Sequence[Read]]:
    found: defaultdict[Partition, list[Read]] = defaultdict(list)
    for read in reader.reads:
        found[read.partition].append(read)
    return found


def _first_offsets(reads: Iterable[Read]) -> dict[str, int]:
    at: dict[str, int] = {}
    for read in reads:
        at.setdefault(read.value, read.offset)
    return at


def _name(partition: Partition) -> str:
    return f"{partition[0]}-{partition[1]}"


def _either(values: Iterable[str]) -> str:
    return " or ".join(sorted(values))
