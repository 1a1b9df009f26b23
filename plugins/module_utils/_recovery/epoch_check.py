# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the leader epochs of replicas with the batches in their logs, before and after they are ranked.

Before: an epoch checkpoint that is older than its log looks complete. After: two logs with the same epochs may have
other records, if controllers gave these epochs again.

The replicas are asked again for it. Their newest answers count: one that no longer answers is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass

from .._kafka.header_reading import AskBatches
from .._model.partition import PartitionState, TopicPartition
from .._model.reasons import plural
from .gather import Engine
from .reused_epochs import mark_reused_epochs

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa

    from .rows import RankedPartition, read_ranked_partitions
    from .second_answers import count_late, find_denied, find_differing, only_silent, replace_rows, silence

_MOST_REPLICAS = 30_000
"""It takes a second for each few thousand."""


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Ask the replicas of some partitions again, with their batches."""

    whole: Callable[[Sequence[PartitionState]], pa.Table]
    newest: Callable[[Sequence[PartitionState]], pa.Table]
    """Only about the newest epoch of each log."""


def check_epochs(
    replica_logs: pa.Table, partitions: Sequence[PartitionState], ask: AskAgain, *, most_replicas: int = _MOST_REPLICAS
) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the rows of ``REPLICA_LOG_SCHEMA`` with checked epochs, and notes on replicas that were not checked.

    Where replicas end alike, only the last batch is read: logs that end with the same batch are equal.
    """
    notes = []

    def look(states: Sequence[PartitionState], ask_for: Callable[[Sequence[PartitionState]], pa.Table]) -> pa.Table:
        replicas = sum(len(each.replicas) for each in states)
        if replicas > most_replicas:
            notes.append(_note_on_unchecked(replicas, f"that is done for at most {most_replicas} replicas"))
        elif replicas:
            found = ask_for(states)
            if late := count_late(found):
                notes.append(_note_on_unchecked(late, "recovery_duration_ms was over"))
            return found
        return replica_logs.slice(0, 0)

    differing = find_differing(replica_logs)
    alike = [each for each in partitions if len(each.replicas) > 1 and each.topic_partition not in differing]
    newest = look(alike, ask.newest)
    differing |= find_denied(replica_logs, newest) | find_differing(newest)
    again = look([each for each in partitions if each.topic_partition in differing], ask.whole)
    return replace_rows(replace_rows(replica_logs, only_silent(newest)), again), tuple(notes)


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
        differing = {each: ranked[each].candidates for each in find_differing(replica_logs)}
        if ask is None or sum(map(len, differing.values())) > most_replicas:
            return ranked, differing.keys()
        marked, failed = mark_reused_epochs(differing, ask)
        if not failed:
            # Spark compares by epochs alone.
            compared = {each: ranked[each]._replace(candidates=of, compared=None) for each, of in marked.items()}
            return ranked | compared, frozenset()
        replica_logs = silence(replica_logs, failed)
