# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Saves what only live replicas hold that are about to lose an election: after it, they delete it within a second."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache, partial

from .._kafka.addresses import Address
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.fetch import FUTURE_REPLICA
from .._kafka.settings import ConnectionSettings, read_settings_reference, temporary_settings_reference
from .._kafka.wire import Wire
from .._model.log_contents import EpochRange, Stretches, records_in
from .._model.partition import TopicPartition
from .._model.replica_log import Cause
from .._model.run import KafkaOpsError, Progress
from .._spark.options import SparkOptions
from .._spark.tasks import in_tasks
from .batch import BatchError, ControlType, control_type
from .directory import check_destination
from .log_reading import Ask, Fetched, fetch
from .manifest import Manifest, SavedFrom
from .places import is_remote
from .read_back import ReadBack
from .rows import Origin, RowBuffer
from .save import overlaps
from .stretch import merged, minus, within
from .transactions import Markers
from .writer import SalvageError, SalvageWriter

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa

    from .rows import ROW_SCHEMA

_SOME_BYTES = 1024
"""A guess of what a record takes, to deal tails out to tasks."""


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
class _Work:
    tail: Tail
    cluster_id: str
    address: Address
    settings_reference: str
    """Where each task finds the connection settings; their values never travel with the task."""


def each_once(tails: Sequence[Tail]) -> list[Tail]:
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
    spark: SparkOptions
    progress: Progress
    settings_reference: str | None = None
    """Path of the connection settings on the hosts with executors; None where this host's own file will do."""

    def save(self, tails: Sequence[Tail]) -> TailSalvage:
        """Save the tails, sync them to disk, and read them back. What cannot be saved is named.

        Raises KafkaOpsError where nothing could be saved.
        """
        if not is_remote(self.destination):
            check_destination(self.destination)
            if os.path.exists(self.destination):
                raise SalvageError(f"{self.destination} exists: name a directory that does not")
        wanted = each_once(tails)
        with ExitStack() as stack:
            reference = self.settings_reference
            if reference is None:
                reference = stack.enter_context(temporary_settings_reference(self.settings))
            work = [
                _Work(each, self.cluster_id, self.addresses[each.broker_id], reference)
                for each in wanted
                if each.broker_id in self.addresses
            ]
            if not work:
                return TailSalvage(None, self._failures(wanted, ()), held_by_losers(wanted))
            self.progress.step("starting Spark, to save what other replicas hold")
            with SalvageWriter(self.destination, self.spark) as writer:
                partitions = len({each.partition for each in wanted})
                self.progress.step(f"saving what other replicas hold of {partitions} partitions")
                written = writer.write(in_tasks(writer.spark, work, _weight, _rows, ROW_SCHEMA))
                failures = self._failures(wanted, written.back)
                held = without_emptied(held_by_losers(wanted), written.back, failures)
                if not written.back.partitions:
                    return TailSalvage(None, failures, held)
                origins = tuple(SavedFrom(each) for each in sorted({each.broker_id for each in wanted}))
                manifest = writer.finish(written, self.cluster_id, origins, held)
                return TailSalvage(manifest, failures, held)

    def _failures(self, wanted: Sequence[Tail], back: ReadBack | tuple[()]) -> dict[TopicPartition, str]:
        if back and back.faults:
            raise SalvageError("what was saved does not read back, and was removed: " + "; ".join(back.faults))
        saved = {each.topic_partition: each.ranges for each in back.partitions} if back else {}
        failures: dict[TopicPartition, str] = {}
        with Wire(self.settings) as wire:
            for each in wanted:
                absent = minus(each.lost, saved.get(each.partition, ()))
                reason = self._why(wire, each, absent) if absent else ""
                if reason:
                    failures[each.partition] = reason
        return failures

    def _why(self, wire: Wire, tail: Tail, absent: Stretches) -> str:
        """Return why offsets were not saved; empty where the broker has no batch of them, as after compaction."""
        offsets = ", ".join(f"{each.start_offset} to {each.end_offset - 1}" for each in absent)
        what = f"offsets {offsets}, which only broker {tail.broker_id} holds, were not saved"
        address = self.addresses.get(tail.broker_id)
        if address is None:
            return f"{what}: the broker has no address"
        try:
            batches = list(_batches(partial(wire.call, address), tail.partition, absent))
        except KafkaOpsError as error:
            return f"{what}: {error}"
        there = [EpochRange(each.leader_epoch, each.base_offset, each.next_offset) for each, _raw in batches]
        return f"{what}, and can be read now: run again" if within(there, absent) else ""


def _weight(work: _Work) -> int:
    return records_in(work.tail.lost) * _SOME_BYTES


def _rows(work: _Work) -> Iterator[pa.RecordBatch]:
    """Yield one tail's rows. Of a broker that fails, those that it sent; reading back shows what is missing."""
    tail = work.tail
    batches: list[Fetched] = []
    with suppress(BrokerCallError, RequestRefusedError):
        ask = partial(_wire(work.settings_reference).call, work.address)
        batches.extend(_batches(ask, tail.partition, tail.lost))
    markers = Markers()
    for header, raw in batches:
        if header.is_control:
            markers.add(header, _kind(Fetched(header, raw)))
    origin = Origin(
        work.cluster_id, tail.topic_id, tail.partition.topic, tail.partition.partition, tail.broker_id, None
    )
    buffer = RowBuffer(origin, tail.lost)
    for header, raw in batches:
        if overlaps(header, tail.lost):
            buffer.add(header, raw, markers.outcome(header))
            yield from buffer.batches()
    yield from buffer.batches(last=True)


def _batches(ask: Ask, partition: TopicPartition, stretches: Stretches) -> Iterator[Fetched]:
    """Yield the batches from the first offset to the last one, whatever of them is wanted.

    Raises BrokerCallError or RequestRefusedError. Nothing where something must be is an error, too: compaction never
    removes the last batch of a log.
    """
    offset, end = min(each.start_offset for each in stretches), max(each.end_offset for each in stretches)
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


@lru_cache(maxsize=2)
def _wire(settings_reference: str) -> Wire:
    """Return the connections of this task's process: a broker's tails come over one connection each process."""
    return Wire(read_settings_reference(settings_reference))


def _kind(batch: Fetched) -> ControlType:
    try:
        return control_type(batch.header, batch.raw)
    except BatchError:
        return ControlType.OTHER


def held_by_losers(tails: Collection[Tail]) -> dict[TopicPartition, Stretches]:
    """Return what the losers hold of each partition, each offset once."""
    found: dict[TopicPartition, list[EpochRange]] = {}
    for each in tails:
        found.setdefault(each.partition, []).extend(each.lost)
    return {partition: merged(ranges) for partition, ranges in found.items()}


def without_emptied(
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
