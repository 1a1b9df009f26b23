# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the leader epochs of replicas with the batches in their logs, before and after they are ranked.

Before: an epoch checkpoint that is older than its log looks complete. After: two logs with the same epochs may have
other records, if controllers gave these epochs again.

The replicas are asked again for it. Their newest answers count: one that no longer answers is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce

from .._kafka.errors import BrokerCallError
from .._kafka.header_reading import AskBatches
from .._model.partition import Cause, PartitionState, TopicPartition
from .._model.reasons import plural
from .gather import Engine
from .reused_epochs import mark_reused_epochs

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.compute as pc

    from .rows import REPLICA_KEY, RankedPartition, read_ranked_partitions

_MOST_REPLICAS = 30_000
"""It takes a second for each few thousand."""
_ENDS = ("last_written_epoch", "log_end_offset")
_LAST_BATCHES = ("last_batch_offset", "last_batch_checksum")


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Ask the replicas of some partitions again, with their batches."""

    whole: Callable[[Sequence[PartitionState]], pa.Table]
    newest: Callable[[Sequence[PartitionState]], pa.Table]
    """Only about the newest epoch of each log."""


def find_silent_brokers(replica_logs: pa.Table) -> frozenset[int]:
    """Return the brokers of which no replica answered. They are not asked again: one that hangs takes all its time."""
    brokers = replica_logs["broker_id"]
    answered = brokers.filter(pc.is_null(replica_logs["cause"]))
    return frozenset(brokers.unique().to_pylist()) - frozenset(answered.unique().to_pylist())


def check_epochs(
    replica_logs: pa.Table, partitions: Sequence[PartitionState], ask: AskAgain, *, most_replicas: int = _MOST_REPLICAS
) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the rows of ``REPLICA_LOG_SCHEMA`` with checked epochs, and notes on replicas that were not checked.

    A replica without a row in the answers to ``ask`` keeps its row.

    Where replicas end alike, only the last batch is read: logs that end with the same batch are equal.
    """
    notes = []

    def look(states: Sequence[PartitionState], ask_for: Callable[[Sequence[PartitionState]], pa.Table]) -> pa.Table:
        replicas = sum(len(each.replicas) for each in states)
        if replicas > most_replicas:
            notes.append(_note_on_unchecked(replicas, f"that is done for at most {most_replicas} replicas"))
        elif replicas:
            found = ask_for(states)
            if late := _count_late(found):
                notes.append(_note_on_unchecked(late, "recovery_duration_ms was over"))
            return found
        return replica_logs.slice(0, 0)

    differing = _find_differing(replica_logs)
    alike = [each for each in partitions if len(each.replicas) > 1 and each.topic_partition not in differing]
    newest = look(alike, ask.newest)
    differing |= _find_denied(replica_logs, newest) | _find_differing(newest)
    again = look([each for each in partitions if each.topic_partition in differing], ask.whole)
    return _replace_rows(_replace_rows(replica_logs, _only_silent(newest)), again), tuple(notes)


def _note_on_unchecked(replicas: int, why: str) -> str:
    return f"the leader epochs of {plural(replicas, 'replica')} were not compared with their batches: {why}"


def rank_checked(
    engine: Engine, replica_logs: pa.Table, ask: AskBatches | None, *, most_replicas: int = _MOST_REPLICAS
) -> tuple[dict[TopicPartition, RankedPartition], Set[TopicPartition]]:
    """Return the ranked replicas of each partition, with the epochs of which they have other records than the best one.

    Also return the partitions whose logs differ and whose batches were not compared. ``ask`` reads batches of the
    replicas; without it, and if very many replicas differ, such epochs are not found. A broker that does not answer it
    counts as silent.
    """
    while True:
        ranked = {each.topic_partition: each for each in read_ranked_partitions(engine.rank(replica_logs))}
        differing = {each: ranked[each].candidates for each in _find_differing(replica_logs)}
        if ask is None or sum(map(len, differing.values())) > most_replicas:
            return ranked, differing.keys()
        marked, failed = mark_reused_epochs(differing, ask)
        if not failed:
            # Spark compares by epochs alone.
            compared = {each: ranked[each]._replace(candidates=of, compared=None) for each, of in marked.items()}
            return ranked | compared, frozenset()
        replica_logs = _silence(replica_logs, failed)


def _find_differing(replica_logs: pa.Table) -> set[TopicPartition]:
    """Return the partitions whose replicas do not all end with the same epoch at the same offset, by the same batch.

    Where batches were not read, the epochs and offsets alone decide.
    """
    answered = replica_logs.filter(pc.is_null(replica_logs["cause"]))
    of_partition = answered.group_by(["topic", "partition"]).aggregate(
        [(name, kind) for name in (*_ENDS, *_LAST_BATCHES) for kind in ("min", "max")]
    )
    differs = reduce(
        pc.or_,
        (
            pc.fill_null(pc.not_equal(of_partition[f"{name}_min"], of_partition[f"{name}_max"]), name in _ENDS)
            for name in (*_ENDS, *_LAST_BATCHES)
        ),
    )
    found = of_partition.filter(differs)
    return set(map(TopicPartition, found["topic"].to_pylist(), found["partition"].to_pylist()))


def _find_denied(replica_logs: pa.Table, newest: pa.Table) -> set[TopicPartition]:
    """Return the partitions with a replica whose newest epoch is another one in the rows of ``newest``."""
    answered = [each.filter(pc.is_null(each["cause"])) for each in (replica_logs, newest)]
    names = (*REPLICA_KEY, "last_written_epoch")
    known, found = (set(zip(*(each[name].to_pylist() for name in names), strict=True)) for each in answered)
    replicas = {each[:-1] for each in known}
    return {TopicPartition(*each[:2]) for each in found - known if each[:-1] in replicas}


def _only_silent(replica_logs: pa.Table) -> pa.Table:
    """Return the rows of silent replicas."""
    return replica_logs.filter(pc.is_valid(replica_logs["cause"]))


def _count_late(replica_logs: pa.Table) -> int:
    """Return how many replicas were not asked in time."""
    return len(replica_logs.filter(_is_late(replica_logs)))


def _replace_rows(replica_logs: pa.Table, again: pa.Table) -> pa.Table:
    """Return the rows with those of ``again`` instead, except where a replica was not asked again in time."""
    newer = again.filter(pc.invert(_is_late(again)))
    known = set(zip(*(newer[name].to_pylist() for name in REPLICA_KEY), strict=True))
    is_kept = [
        each not in known for each in zip(*(replica_logs[name].to_pylist() for name in REPLICA_KEY), strict=True)
    ]
    return pa.concat_tables([replica_logs.filter(pa.array(is_kept, pa.bool_())), newer])


def _is_late(replica_logs: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(replica_logs["cause"], str(Cause.DEADLINE)), False)


def _silence(replica_logs: pa.Table, failed: Mapping[int, BrokerCallError]) -> pa.Table:
    """Return the rows of ``REPLICA_LOG_SCHEMA`` with brokers that failed since, by broker id, as silent ones."""
    answered = pc.is_null(replica_logs["cause"])
    for broker_id, error in failed.items():
        is_silent = pc.and_(answered, pc.equal(replica_logs["broker_id"], broker_id))
        for name, value in (("cause", str(error.cause)), ("error", str(error))):
            column = pc.if_else(is_silent, value, replica_logs[name])
            replica_logs = replica_logs.set_column(
                replica_logs.schema.get_field_index(name), replica_logs.schema.field(name), column
            )
    return replica_logs
