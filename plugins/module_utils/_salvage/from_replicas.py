# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Saves what only live replicas hold that are about to lose an election: after it, they delete it within a second."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache, partial

from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.messages import FUTURE_REPLICA
from .._kafka.private_files import read_settings_reference, temporary_settings_reference
from .._kafka.settings import Address, ConnectionSettings
from .._kafka.wire import Wire
from .._model.log_contents import EpochRange, Stretches, records_in
from .._model.partition import Cause, TopicPartition
from .._model.run import KafkaOpsError, Progress
from .._spark.options import SparkOptions
from .directory import check_covers, check_destination
from .log_reading import Ask, Fetched, fetch
from .manifest import Manifest, SavedFrom
from .options import is_remote
from .read_back import ReadBack
from .rows import Origin, RowSource, build_rows
from .stretch import merged, minus, within
from .writer import MOST_BYTES_HERE, SalvageError, SalvageWriter, choose_spark

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa

_SOME_BYTES = 1024
"""A guess of what a record takes, to deal tails out to tasks."""
_ATTEMPTS = 3
_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Tail:
    """What one live replica holds of a partition, and the designated leader does not."""

    partition: TopicPartition
    topic_id: str
    broker_id: int
    lost: Stretches


@dataclass(frozen=True, slots=True)
class TailSalvage:
    """What became of tails."""

    manifest: Manifest | None
    """None where nothing was saved."""
    failures: dict[TopicPartition, str]
    """Partitions of which not all was saved, and why."""
    held: dict[TopicPartition, Stretches]
    """What losers hold of each partition, without what compaction removed."""


@dataclass(frozen=True, slots=True)
class _TailRequest:
    tail: Tail
    cluster_id: str
    address: Address


def remove_overlaps(tails: Sequence[Tail]) -> list[Tail]:
    """Return the tails without what an earlier one of the same partition has, too."""
    taken: dict[TopicPartition, Stretches] = {}
    found = []
    for each in tails:
        before = taken.get(each.partition, ())
        rest = minus(merged(each.lost), before)
        taken[each.partition] = merged([*before, *rest])
        if rest:
            found.append(Tail(each.partition, each.topic_id, each.broker_id, rest))
    return found


@dataclass(frozen=True, slots=True)
class TailSaver:
    """Saves tails of one cluster into one directory."""

    settings: ConnectionSettings
    cluster_id: str
    addresses: Mapping[int, Address]
    destination: str
    spark: SparkOptions | None
    """By the operator's own choice; None where Spark is to be used for much only."""
    progress: Progress
    settings_reference: str | None = None
    """Path of the connection settings on the hosts with executors; None where this host's own file will do."""

    def save(self, tails: Sequence[Tail]) -> TailSalvage:
        """Save the tails, sync them to disk, and read them back. What cannot be saved is named.

        A finished salvage that has all of it is taken for what a run has saved that was killed before it elected.

        Raises KafkaOpsError where nothing could be saved.
        """
        wanted = remove_overlaps(tails)
        if not is_remote(self.destination):
            check_destination(self.destination)
        work = [
            _TailRequest(each, self.cluster_id, self.addresses[each.broker_id])
            for each in wanted
            if each.broker_id in self.addresses
        ]
        if not work:
            return TailSalvage(None, self._find_failures(wanted, ()), held_by_losers(wanted))
        # What several replicas hold of one partition, in the order of offsets.
        work.sort(key=lambda each: each.tail.lost[0].start_offset)
        is_little = sum(map(_estimate_bytes, work)) <= MOST_BYTES_HERE
        spark = choose_spark(self.spark, SparkOptions(), self.destination, is_little=is_little)
        with ExitStack() as stack:
            rows = self._fetch_in_process(stack) if spark is None else self._fetch_in_tasks(stack)
            if spark is not None:
                self.progress.step("starting Spark, to save what other replicas hold")
            writer = stack.enter_context(SalvageWriter(self.destination, spark))
            if (there := writer.read_finished_manifest()) is not None:
                return self._accept_finished_salvage(writer, there, wanted)
            partitions = len({each.partition for each in wanted})
            self.progress.step(f"saving what other replicas hold of {partitions} partitions")
            written = writer.write(RowSource(work, rows, _estimate_bytes, _partition))
            failures = self._find_failures(wanted, written.back)
            held = drop_compacted(held_by_losers(wanted), written.back, failures)
            if not written.back.partitions:
                return TailSalvage(None, failures, held)
            origins = tuple(SavedFrom(each) for each in sorted({each.broker_id for each in wanted}))
            manifest = writer.finish(written, self.cluster_id, origins, held)
            return TailSalvage(manifest, failures, held)

    def _accept_finished_salvage(
        self, writer: SalvageWriter, manifest: Manifest, wanted: Sequence[Tail]
    ) -> TailSalvage:
        """Accept a finished salvage that has all that is to be saved. Raises SalvageError or SalvageDirectoryError."""
        held = held_by_losers(wanted)
        topic_ids = {each.partition: each.topic_id for each in wanted}
        needed = [(partition, topic_ids[partition], ranges) for partition, ranges in held.items()]
        check_covers(manifest, self.destination, self.cluster_id, needed)
        if faults := writer.find_problems_there(manifest):
            raise SalvageError("; ".join(faults))
        return TailSalvage(manifest, {}, held)

    def _fetch_in_process(self, stack: ExitStack) -> Callable[[_TailRequest], Iterator[pa.RecordBatch]]:
        return _TailFetcher(stack.enter_context(Wire(self.settings))).rows

    def _fetch_in_tasks(self, stack: ExitStack) -> Callable[[_TailRequest], Iterator[pa.RecordBatch]]:
        """Tasks find the connection settings in a file: their values never travel with a task."""
        reference = self.settings_reference
        if reference is None:
            reference = stack.enter_context(temporary_settings_reference(self.settings))
        return partial(_build_rows_in_task, reference)

    def _find_failures(self, wanted: Sequence[Tail], back: ReadBack | tuple[()]) -> dict[TopicPartition, str]:
        if back and back.faults:
            raise SalvageError("what was saved does not read back, and was removed: " + "; ".join(back.faults))
        saved = {each.topic_partition: each.ranges for each in back.partitions} if back else {}
        failures: dict[TopicPartition, str] = {}
        silent: dict[int, str] = {}
        with Wire(self.settings) as wire:
            for each in wanted:
                absent = minus(each.lost, saved.get(each.partition, ()))
                reason = self._explain_missing(wire, each, absent, silent) if absent else ""
                if reason:
                    failures[each.partition] = reason
        return failures

    def _explain_missing(self, wire: Wire, tail: Tail, absent: Stretches, silent: dict[int, str]) -> str:
        """Return why offsets were not saved; empty where the broker has no batch of them, as after compaction.

        A broker that is in ``silent`` is not asked again, and one that does not answer is added.
        """
        offsets = ", ".join(each.offsets for each in absent)
        what = f"offsets {offsets}, which only broker {tail.broker_id} holds, were not saved"
        address = self.addresses.get(tail.broker_id)
        if address is None:
            return f"{what}: the broker has no address"
        if tail.broker_id in silent:
            return f"{what}: {silent[tail.broker_id]}"
        try:
            batches = list(_batches(partial(wire.call, address), tail.partition, absent))
        except KafkaOpsError as error:
            if isinstance(error, BrokerCallError) and error.cause in (Cause.HUNG, Cause.UNREACHABLE):
                silent[tail.broker_id] = str(error)
            return f"{what}: {error}"
        there = [EpochRange(each.leader_epoch, each.base_offset, each.next_offset) for each, _raw in batches]
        return f"{what}, and can be read now: run again" if within(there, absent) else ""


def _partition(work: _TailRequest) -> TopicPartition:
    return work.tail.partition


def _estimate_bytes(work: _TailRequest) -> int:
    return records_in(work.tail.lost) * _SOME_BYTES


def _build_rows_in_task(settings_reference: str, work: _TailRequest) -> Iterator[pa.RecordBatch]:
    return _fetcher_in_task(settings_reference).rows(work)


@lru_cache(maxsize=2)
def _fetcher_in_task(settings_reference: str) -> _TailFetcher:
    """Return the connections of this task's process: a broker's tails come over one connection each process."""
    return _TailFetcher(Wire(read_settings_reference(settings_reference)))


class _TailFetcher:
    """Asks brokers for tails. One that has not answered several times in turn is left alone, as elections wait."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._unanswered: Counter[Address] = Counter()

    def rows(self, work: _TailRequest) -> Iterator[pa.RecordBatch]:
        """Yield one tail's rows. Of a broker that fails, those that it sent; reading back shows what is missing."""
        tail = work.tail
        batches = self.sent(work)
        origin = Origin(
            work.cluster_id, tail.topic_id, tail.partition.topic, tail.partition.partition, tail.broker_id, None
        )
        return build_rows(lambda: batches, origin, tail.lost)

    def sent(self, work: _TailRequest) -> list[Fetched]:
        """Return what a broker sends of a tail. It is asked again where it fails, for its records are gone soon."""
        found: list[Fetched] = []
        ask = partial(self._wire.call, work.address)
        for attempt in range(_ATTEMPTS):
            if self._unanswered[work.address] >= _ATTEMPTS:
                break
            time.sleep(_PAUSE_S if attempt else 0)
            after = found[-1].header.next_offset if found else 0
            try:
                for each in _batches(ask, work.tail.partition, work.tail.lost, after):
                    self._unanswered[work.address] = 0
                    found.append(each)
                break
            except RequestRefusedError as error:
                if not error.is_transient:
                    break
            except BrokerCallError as error:
                self._unanswered[work.address] += error.cause in (Cause.HUNG, Cause.UNREACHABLE)
        return found


def _batches(ask: Ask, partition: TopicPartition, stretches: Stretches, after: int = 0) -> Iterator[Fetched]:
    """Yield the batches from the first offset, or ``after``, to the last one, whatever of them is wanted.

    Raises BrokerCallError or RequestRefusedError. Nothing where something must be is an error, too: compaction never
    removes the last batch of a log.
    """
    offset, end = min(each.start_offset for each in stretches), max(each.end_offset for each in stretches)
    offset = max(offset, after)
    while offset < end:
        answer = fetch(ask, partition, offset, replica_id=FUTURE_REPLICA)
        if not answer.batches:
            raise BrokerCallError(
                str(partition),
                Cause.BAD_ANSWER,
                f"it answers with nothing from offset {offset} on, and its log went on to {end}",
                request="Fetch",
            )
        yield from answer.batches
        offset = answer.batches[-1].header.next_offset


def held_by_losers(tails: Collection[Tail]) -> dict[TopicPartition, Stretches]:
    """Return what the losers hold of each partition, each offset once."""
    found: dict[TopicPartition, list[EpochRange]] = {}
    for each in tails:
        found.setdefault(each.partition, []).extend(each.lost)
    return {partition: merged(ranges) for partition, ranges in found.items()}


def drop_compacted(
    held: Mapping[TopicPartition, Stretches], back: ReadBack, failures: Collection[TopicPartition]
) -> dict[TopicPartition, Stretches]:
    """Return what was held, without offsets of which no replica has a batch any more: compaction removed those.

    Of a partition in ``failures`` it is unknown why offsets are not in the files.
    """
    saved = {each.topic_partition: each.ranges for each in back.partitions}
    return {
        partition: ranges if partition in failures else within(ranges, saved.get(partition, ()))
        for partition, ranges in held.items()
    }
