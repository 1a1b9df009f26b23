# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deals work out to Spark tasks, which find it in their closure. Nothing in it may be secret.

Each item is in one task, and Spark takes the rows of one attempt of each task: whatever is lost, retried or run twice,
each item's rows come once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_TASKS_A_SLOT = 4
_CONNECT = "pyspark.sql.connect."
_PARALLELISM = "spark.default.parallelism"
_SLOTS_UNKNOWN = "4"

Item = TypeVar("Item")


def run_in_tasks(
    spark: SparkSession,
    items: Sequence[Item],
    weight: Callable[[Item], int],
    work: Callable[[Item], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
    *,
    together: Callable[[Item], Hashable] = id,
) -> DataFrame:
    """Return the rows that ``work`` yields for every item, in tasks of about the same total ``weight``.

    The rows of one item are in its own order, and in one partition. So are those of all items for which ``together``
    returns the same, in the order of ``items``, which must not be empty.
    """
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - dealing out needs no PySpark

    def one_by_one(hand: Sequence[Item]) -> Iterator[pa.RecordBatch]:
        for item in hand:
            yield from work(item)

    hands = distribute_groups(items, weight, slots(spark) * _TASKS_A_SLOT, together)
    return task_for_each(spark, hands, one_by_one, from_arrow_schema(schema))


def task_for_each(
    spark: SparkSession,
    hands: Sequence[Sequence[Item]],
    work: Callable[[Sequence[Item]], Iterator[pa.RecordBatch]],
    schema: StructType,
) -> DataFrame:
    """Return the rows that ``work`` yields for every hand, one task each. ``hands`` must not be empty."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from work(hands[number])

    return spark.range(0, len(hands), 1, len(hands)).mapInArrow(run, schema)


def distribute_groups(
    items: Sequence[Item], weight: Callable[[Item], int], most: int, together: Callable[[Item], Hashable]
) -> list[list[Item]]:
    """Distribute as ``distribute`` does. Items for which ``together`` returns the same go to one share, in order."""
    groups: dict[Hashable, list[Item]] = {}
    for each in items:
        groups.setdefault(together(each), []).append(each)
    hands = distribute([*groups.values()], lambda group: sum(map(weight, group)), most)
    return [[*chain.from_iterable(hand)] for hand in hands]


def distribute(items: Sequence[Item], weight: Callable[[Item], int], most: int) -> list[list[Item]]:
    """Deal items out to at most ``most`` hands: the heaviest first, each to the lightest hand."""
    hands: list[list[Item]] = [[] for _each in range(min(max(most, 1), len(items)))]
    weights = [0] * len(hands)
    for item in sorted(items, key=weight, reverse=True):
        lightest = weights.index(min(weights))
        hands[lightest].append(item)
        weights[lightest] += weight(item)
    return [hand for hand in hands if hand]


def slots(spark: SparkSession) -> int:
    """Return how many tasks Spark runs at once. A Spark Connect server reports it only where it is set."""
    if type(spark).__module__.startswith(_CONNECT):
        return int(spark.conf.get(_PARALLELISM, _SLOTS_UNKNOWN) or _SLOTS_UNKNOWN)
    return spark.sparkContext.defaultParallelism
