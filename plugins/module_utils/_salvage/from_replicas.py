# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Save the records that only losers of an election hold. After the election they delete these within a second."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from operator import attrgetter

from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.log_reading import Ask, Fetched, fetch
from .._kafka.messages import FUTURE_REPLICA
from .._kafka.own_cluster import OwnCluster
from .._kafka.private_files import read_settings_reference, temporary_settings_reference
from .._kafka.settings import Address, ConnectionSettings
from .._kafka.wire import Wire
from .._model.log_contents import UNKNOWN_EPOCH, EpochRange, Stretches, Tail, intersect, records_in, subtract, union
from .._model.partition import Cause, TopicPartition, grouped
from .._model.reasons import plural
from .._model.run import KafkaOpsError, Progress
from .._spark.options import SparkOptions, is_uri
from .directory import UnsyncedSalvageError, check_destination
from .manifest import Manifest, SavedFrom
from .read_back import ReadBack
from .rows import Origin, RowSource, build_rows
from .writer import MOST_BYTES_HERE, SalvageWriter, choose_spark, read_back_error

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa

_SOME_BYTES = 1024
"""A rough size of one record, to distribute tails to tasks."""
_ATTEMPTS = 3
_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class TailSalvage:
    """Result of saving tails."""

    manifest: Manifest | None
    """None if nothing was saved."""
    failures: dict[TopicPartition, str]
    """Partitions that were not saved completely, and why."""
    held: dict[TopicPartition, Stretches]
    """Offsets that losers hold of each partition, without those that compaction removed."""


@dataclass(frozen=True, slots=True)
class _TailRequest:
    tail: Tail
    cluster_id: str
    address: Address


def remove_overlaps(tails: Sequence[Tail]) -> list[Tail]:
    """Remove from each tail the offsets that an earlier tail of the same partition has too.

    Returns the tails by leader epoch and offset: so a replay writes the newest record of a key last.
    """
    taken: dict[TopicPartition, Stretches] = {}
    found = []
    for each in tails:
        before = taken.get(each.partition, ())
        rest = subtract(union([each.lost]), before)
        taken[each.partition] = union([[*before, *rest]])
        if rest:
            found.append(replace(each, lost=rest))
    return sorted(found, key=lambda each: each.lost[0])


@dataclass(frozen=True, slots=True)
class TailSaver:
    """Saves tails of one cluster into one directory."""

    settings: ConnectionSettings
    cluster_id: str
    addresses: Mapping[int, Address]
    destination: str
    spark: SparkOptions | None
    """Spark's options, if the operator set any; None to use Spark for large tails only."""
    progress: Progress
    settings_reference: str | None = None
    """Path of the connection settings on the executors' hosts; None if a file on this host is enough."""

    def save(self, tails: Sequence[Tail]) -> TailSalvage:
        """Save the tails, sync them to disk, and read them back. The result names what could not be saved.

        If the directory is a finished salvage that has all tails, it is accepted: a run saved them and was killed
        before the election.

        Raises KafkaOpsError if nothing could be saved.
        """
        wanted = remove_overlaps([self._with_epochs(each) for each in tails])
        if not is_uri(self.destination):
            check_destination(self.destination)
        work = [
            _TailRequest(each, self.cluster_id, self.addresses[each.broker_id])
            for each in wanted
            if each.broker_id in self.addresses
        ]
        if not work:
            return TailSalvage(None, self._find_failures(wanted, ReadBack((), ())), merge_tails(wanted))
        is_little = sum(map(_estimate_bytes, work)) <= MOST_BYTES_HERE
        spark = choose_spark(self.spark, SparkOptions(), self.destination, is_little=is_little)
        with ExitStack() as stack:
            if spark is not None:
                rows = self._row_reader_for_tasks(stack)
                self.progress.step("starting Spark, to save records of other replicas")
            else:
                rows = _TailFetcher(stack.enter_context(self._wire())).rows
            writer = stack.enter_context(SalvageWriter(self.destination, spark))
            if (earlier := writer.read_finished_manifest()) is not None:
                return self._accept_finished_salvage(writer, earlier, wanted)
            partitions = len({each.partition for each in wanted})
            self.progress.step(f"saving records of other replicas, of {plural(partitions, 'partition')}")
            written = writer.write(RowSource(work, rows, _estimate_bytes, attrgetter("tail.partition")))
            failures = self._find_failures(wanted, written.back)
            held = drop_compacted(merge_tails(wanted), written.back, failures)
            if not written.back.partitions:
                return TailSalvage(None, failures, held)
            origins = tuple(SavedFrom(each) for each in sorted({each.broker_id for each in wanted}))
            try:
                reused = {each.partition: each.reused_epochs for each in wanted}
                manifest = writer.finish(written, self.cluster_id, origins, held, reused)
            except UnsyncedSalvageError as error:
                return TailSalvage(error.manifest, {**dict.fromkeys(held, str(error)), **failures}, held)
            return TailSalvage(manifest, failures, held)

    def _with_epochs(self, tail: Tail) -> Tail:
        """Return a tail with the epochs of its batches, if the forecast does not know them.

        If the batches cannot be read, the tail stays as it is, and reading back finds that it is missing.
        """
        unknown = [each for each in tail.lost if each.epoch == UNKNOWN_EPOCH]
        address = self.addresses.get(tail.broker_id)
        if not unknown or address is None:
            return tail
        known = [each for each in tail.lost if each.epoch != UNKNOWN_EPOCH]
        try:
            with self._wire() as wire:
                batches = [
                    header.offsets
                    for header, _raw in _fetch_tail(partial(wire.call, address), tail.partition, tuple(unknown))
                ]
        except KafkaOpsError:
            return tail
        found = [
            EpochRange(batch.epoch, max(batch.start_offset, each.start_offset), min(batch.end_offset, each.end_offset))
            for each in unknown
            for batch in batches
            if batch.start_offset < each.end_offset and each.start_offset < batch.end_offset
        ]
        return replace(tail, lost=union([[*known, *found]]))

    def _accept_finished_salvage(
        self, writer: SalvageWriter, manifest: Manifest, wanted: Sequence[Tail]
    ) -> TailSalvage:
        """Check that a finished salvage has all records to be saved, and accept it.

        Raises SalvageError or SalvageDirectoryError.
        """
        held = merge_tails(wanted)
        topic_ids = {each.partition: each.topic_id for each in wanted}
        needed = [(partition, topic_ids[partition], ranges) for partition, ranges in held.items()]
        try:
            writer.require_finished(manifest, self.cluster_id, needed)
        except UnsyncedSalvageError as error:
            return TailSalvage(manifest, dict.fromkeys(held, str(error)), held)
        return TailSalvage(manifest, {}, held)

    def _row_reader_for_tasks(self, stack: ExitStack) -> Callable[[_TailRequest], Iterator[pa.RecordBatch]]:
        """Return a function for Spark's tasks. It reads the connection settings from a file: no task carries them."""
        reference = self.settings_reference
        if reference is None:
            reference = stack.enter_context(temporary_settings_reference(self.settings))
        return partial(_build_rows_in_task, reference)

    def _wire(self) -> Wire:
        return Wire(self.settings, own_cluster=OwnCluster(self.cluster_id))

    def _find_failures(self, wanted: Sequence[Tail], back: ReadBack) -> dict[TopicPartition, str]:
        if back.problems:
            raise read_back_error(back.problems)
        saved = back.ranges
        failures: dict[TopicPartition, str] = {}
        silent: dict[int, str] = {}
        with self._wire() as wire:
            for each in wanted:
                absent = subtract(each.lost, saved.get(each.partition, ()))
                reason = self._explain_missing(wire, each, absent, silent) if absent else ""
                if reason:
                    failures[each.partition] = reason
        return failures

    def _explain_missing(self, wire: Wire, tail: Tail, absent: Stretches, silent: dict[int, str]) -> str:
        """Return why offsets were not saved; empty if the broker has no batch of them (compaction removed it).

        ``silent`` has the brokers that do not answer. They are not asked again; new ones are added.
        """
        offsets = ", ".join(each.offsets for each in absent)
        what = f"offsets {offsets}, which only broker {tail.broker_id} holds, were not saved"
        address = self.addresses.get(tail.broker_id)
        if address is None:
            return f"{what}: the broker has no address"
        if tail.broker_id in silent:
            return f"{what}: {silent[tail.broker_id]}"
        try:
            batches = list(_fetch_tail(partial(wire.call, address), tail.partition, absent))
        except KafkaOpsError as error:
            if isinstance(error, BrokerCallError) and error.cause in (Cause.HUNG, Cause.UNREACHABLE):
                silent[tail.broker_id] = str(error)
            return f"{what}: {error}"
        readable = [header.offsets for header, _raw in batches]
        if intersect(readable, absent):
            return f"{what}, and can be read now: run again"
        others = [
            batch.epoch
            for batch in readable
            for each in absent
            if batch.start_offset < each.end_offset and each.start_offset < batch.end_offset
        ]
        if others:
            return (
                f"{what}: its batches have leader epoch {others[0]} there, and its leader-epoch-checkpoint says "
                f"{absent[0].epoch}: make a new plan"
            )
        return ""


def _estimate_bytes(work: _TailRequest) -> int:
    return records_in(work.tail.lost) * _SOME_BYTES


def _build_rows_in_task(settings_reference: str, work: _TailRequest) -> Iterator[pa.RecordBatch]:
    return _fetcher_in_task(settings_reference, work.cluster_id).rows(work)


@lru_cache(maxsize=2)
def _fetcher_in_task(settings_reference: str, cluster_id: str) -> _TailFetcher:
    """Return the fetcher of this task's process, so that each process opens one connection to a broker."""
    return _TailFetcher(Wire(read_settings_reference(settings_reference), own_cluster=OwnCluster(cluster_id)))


class _TailFetcher:
    """Fetches tails from brokers.

    A broker that did not answer several times in a row is not asked again, because elections wait. ``pause_s`` is the
    pause before each retry.
    """

    def __init__(self, wire: Wire, *, pause_s: float = _PAUSE_S) -> None:
        self._wire = wire
        self._pause_s = pause_s
        self._unanswered: Counter[Address] = Counter()

    def rows(self, work: _TailRequest) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one tail. If the broker fails, these are incomplete; reading back finds what is missing."""
        tail = work.tail
        batches = self.fetch(work)
        origin = Origin(
            work.cluster_id, tail.topic_id, tail.partition.topic, tail.partition.partition, tail.broker_id, None
        )
        return build_rows(lambda: batches, origin, tail.lost)

    def fetch(self, work: _TailRequest) -> list[Fetched]:
        """Fetch the batches of a tail. Retries after an error, because the records will be deleted soon."""
        found: list[Fetched] = []
        ask = partial(self._wire.call, work.address)
        for attempt in range(_ATTEMPTS):
            if self._unanswered[work.address] >= _ATTEMPTS:
                break
            time.sleep(self._pause_s if attempt else 0)
            after = found[-1].header.next_offset if found else 0
            try:
                for each in _fetch_tail(ask, work.tail.partition, work.tail.lost, after):
                    self._unanswered[work.address] = 0
                    found.append(each)
                break
            except RequestRefusedError as error:
                if not error.is_transient:
                    break
            except BrokerCallError as error:
                self._unanswered[work.address] += error.cause in (Cause.HUNG, Cause.UNREACHABLE)
        return found


def _fetch_tail(ask: Ask, partition: TopicPartition, stretches: Stretches, after: int = 0) -> Iterator[Fetched]:
    """Yield all batches from the first offset of the stretches, or from ``after``, to the last one.

    Raises BrokerCallError or RequestRefusedError. An empty answer is an error too: compaction never removes the last
    batch of a log.
    """
    offset, end = min(each.start_offset for each in stretches), max(each.end_offset for each in stretches)
    offset = max(offset, after)
    while offset < end:
        answer = fetch(ask, partition, offset, replica_id=FUTURE_REPLICA)
        if not answer.batches:
            raise BrokerCallError(
                str(partition),
                Cause.BAD_ANSWER,
                f"it sends no batch from offset {offset} on, and its log ended at {end}",
                request="Fetch",
            )
        yield from answer.batches
        offset = answer.batches[-1].header.next_offset


def merge_tails(tails: Collection[Tail]) -> dict[TopicPartition, Stretches]:
    """Return the offsets that losers hold of each partition, each offset once."""
    found = grouped((each.partition, part) for each in tails for part in each.lost)
    return {partition: union([ranges]) for partition, ranges in found.items()}


def drop_compacted(
    held: Mapping[TopicPartition, Stretches], back: ReadBack, failures: Collection[TopicPartition]
) -> dict[TopicPartition, Stretches]:
    """Remove from ``held`` the offsets that no replica has a batch of: compaction removed their records.

    Partitions in ``failures`` stay as they are: it is unknown why their offsets are not in the files.
    """
    saved = back.ranges
    return {
        partition: ranges if partition in failures else intersect(ranges, saved.get(partition, ()))
        for partition, ranges in held.items()
    }
