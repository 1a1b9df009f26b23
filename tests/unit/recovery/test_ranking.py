# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ranking: named cases, and many generated ones against a model that keeps every record's epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, ReplicaLog
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import (
    RANKED_SCHEMA,
    rank_table,
    to_record_batch,
)
from unit.fakes.brokers import a_log

Ranked = dict[int, tuple[int | None, list[str]]]
"""By broker id: rank and flags."""


def to_table(logs: Sequence[ReplicaLog], fenced: frozenset[int] = frozenset()) -> pa.Table:
    """Return rows whose position in the replica list is their position here, counted in each partition."""
    seen: dict[tuple[str, int], int] = {}
    batches = []
    for log in logs:
        place = seen.get((log.topic, log.partition), 0)
        seen[log.topic, log.partition] = place + 1
        batches.append(to_record_batch([log], [place], log.broker_id in fenced))
    return pa.Table.from_batches(batches)


def rank(*logs: ReplicaLog, fenced: frozenset[int] = frozenset()) -> Ranked:
    """Return the ranking of one partition's replicas."""
    rows = rank_table(to_table(logs, fenced)).to_pylist()
    return {row["broker_id"]: (row["rank"], row["flags"]) for row in rows}


def test_a_longer_log_of_an_older_epoch_ranks_lower() -> None:
    found = rank(a_log("t", 0, 1, (6, 2000)), a_log("t", 0, 2, (6, 1000), (7, 1500)))
    assert found == {1: (2, ["diverged"]), 2: (1, [])}


def test_the_longer_log_of_the_same_epoch_ranks_higher() -> None:
    found = rank(a_log("t", 0, 1, (7, 1400)), a_log("t", 0, 2, (7, 1500)))
    assert found == {1: (2, []), 2: (1, [])}


def test_equal_logs_rank_by_the_replica_list() -> None:
    found = rank(a_log("t", 0, 3, (7, 10)), a_log("t", 0, 1, (7, 10)), a_log("t", 0, 2, (7, 10)))
    assert found == {3: (1, []), 1: (2, []), 2: (3, [])}


def test_of_logs_with_the_same_end_the_one_that_begins_first_ranks_higher() -> None:
    """A swapped host may have the last segments only. If it leads, the others delete what is before them (KIP-107)."""
    found = rank(
        a_log("t", 0, 3, (7, 900), start=800), a_log("t", 0, 1, (7, 900)), a_log("t", 0, 2, (7, 901), start=900)
    )
    assert found == {2: (1, []), 1: (2, []), 3: (3, [])}, "what was written last counts more"


def test_for_tiered_topics_a_whole_disk_ranks_before_a_rebuilt_one() -> None:
    def tiered(broker_id: int, local: int | None) -> ReplicaLog:
        return replace(a_log("t", 0, broker_id, (7, 10)), is_tiered=True, local_log_start_offset=local)

    found = rank(tiered(3, None), tiered(1, 8), tiered(2, 0))
    assert found == {3: (3, ["local_only"]), 1: (2, ["local_only"]), 2: (1, ["local_only"])}
    longer = replace(tiered(4, 9), log_end_offset=11, lineage=a_log("t", 0, 4, (7, 11)).lineage)
    assert rank(tiered(2, 0), longer)[4][0] == 1, "what was written last counts more"


def test_an_empty_log_comes_last_and_is_flagged() -> None:
    found = rank(a_log("t", 0, 1), a_log("t", 0, 2, (0, 1)))
    assert found == {1: (2, ["empty_log"]), 2: (1, [])}


def test_silent_replicas_have_no_rank() -> None:
    half_reported = replace(a_log("t", 0, 3, (9, 9)), log_start_offset=None)
    hung = ReplicaLog("t", 0, 1, cause=Cause.HUNG)
    void = replace(a_log("t", 0, 4, (9, 9)), cause=Cause.RESTARTED)
    found = rank(hung, a_log("t", 0, 2, (7, 10)), half_reported, void)
    assert found == {1: (None, []), 2: (1, []), 3: (None, []), 4: (None, [])}


def test_a_log_that_ends_before_anothers_start_has_a_gap() -> None:
    found = rank(a_log("t", 0, 1, (5, 100)), a_log("t", 0, 2, (5, 400), (7, 900), start=300))
    assert found == {1: (2, ["gap"]), 2: (1, [])}


def test_a_fenced_broker_and_a_moving_log_keep_their_rank_and_are_flagged() -> None:
    moving = replace(a_log("t", 0, 2, (7, 10)), is_future=True)
    found = rank(a_log("t", 0, 1, (7, 11)), moving, fenced=frozenset({1}))
    assert found == {1: (1, ["fenced"]), 2: (2, ["future_replica"])}


def test_a_future_replica_that_was_not_reported_is_unknown_and_not_absent() -> None:
    reported = replace(a_log("t", 0, 1, (7, 10)), log_dir="/data")
    refused = replace(reported, log_dir=None)
    logs = [reported, refused, replace(refused, is_future=True), ReplicaLog("t", 0, 1, cause=Cause.HUNG)]
    assert to_record_batch(logs, [0] * 4, False)["is_future"].to_pylist() == [False, None, True, None]


def test_a_leader_of_an_epoch_without_records_has_not_diverged() -> None:
    """A leader records its epoch before its first record: (6, 100) after (5, 100) is an epoch without records."""
    found = rank(a_log("t", 0, 1, (5, 100), (6, 100)), a_log("t", 0, 2, (5, 100), (7, 200)))
    assert found == {1: (2, []), 2: (1, [])}


@dataclass(frozen=True)
class Model:
    """A replica's log, record by record: the epoch of each offset from ``start`` on."""

    start: int
    epochs: tuple[int, ...]
    answers: bool

    @property
    def end(self) -> int:
        return self.start + len(self.epochs)

    def epoch_at(self, offset: int) -> int | None:
        return self.epochs[offset - self.start] if self.start <= offset < self.end else None

    def log(self, partition: int, broker_id: int) -> ReplicaLog:
        if not self.answers:
            return ReplicaLog("t", partition, broker_id, cause=Cause.HUNG)
        lineage = {epoch: self.start + index + 1 for index, epoch in enumerate(self.epochs)}
        return a_log("t", partition, broker_id, *lineage.items(), start=self.start)


def expected(models: Sequence[Model]) -> Ranked:
    """Compute the ranking of one partition from every record. Broker ids are places in the list."""
    answered = [each for each, model in enumerate(models) if model.answers]
    newest = {each: max(models[each].epochs, default=-1) for each in answered}
    order = sorted(answered, key=lambda each: (-newest[each], -models[each].end, models[each].start, each))
    found: Ranked = {each: (None, []) for each in range(len(models))}
    for place, each in enumerate(order, start=1):
        own, best = models[each], models[order[0]]
        flags = {
            "empty_log": own.end == 0,
            "gap": any(own.end < models[other].start for other in answered),
            "diverged": any(
                own.epoch_at(offset) != best.epoch_at(offset) for offset in range(max(own.start, best.start), own.end)
            ),
        }
        found[each] = (place, [flag for flag, is_set in flags.items() if is_set])
    return found


epochs = st.lists(st.integers(0, 3), max_size=6).map(lambda values: tuple(sorted(values)))
models = st.builds(Model, start=st.integers(0, 5), epochs=epochs, answers=st.integers(0, 9).map(bool))
partitions = st.lists(st.lists(models, min_size=1, max_size=4), min_size=1, max_size=15)


def logs_of(partitions: Sequence[Sequence[Model]]) -> list[ReplicaLog]:
    return [
        model.log(partition, broker_id)
        for partition, replicas in enumerate(partitions)
        for broker_id, model in enumerate(replicas)
    ]


@given(partitions)
def test_ranking_agrees_with_a_comparison_of_every_record(partitions: list[list[Model]]) -> None:
    table = rank_table(to_table(logs_of(partitions)))
    assert table.schema.equals(RANKED_SCHEMA)
    found: dict[int, Ranked] = {}
    for row in table.to_pylist():
        found.setdefault(row["partition"], {})[row["broker_id"]] = (row["rank"], row["flags"])
    assert found == {partition: expected(replicas) for partition, replicas in enumerate(partitions)}
