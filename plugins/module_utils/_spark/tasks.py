# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Distribute work to Spark tasks. The items are in the tasks' closure, so nothing in them may be secret.

Each item is in one task, and Spark takes the rows of one attempt of each task. So each item's rows are returned once,
even if tasks fail or run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from .._model.partition import grouped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_TASKS_PER_SLOT = 4
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

    The rows of one item keep their order and are in one partition. The items for which ``together`` returns the same
    value are in one partition, in the order of ``items``. ``items`` must not be empty.
    """
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - distribute needs no PySpark

    def one_by_one(share: Sequence[Item]) -> Iterator[pa.RecordBatch]:
        for item in share:
            yield from work(item)

    shares = distribute_groups(items, weight, slots(spark) * _TASKS_PER_SLOT, together)
    return task_for_each(spark, shares, one_by_one, from_arrow_schema(schema))


def task_for_each(
    spark: SparkSession,
    shares: Sequence[Sequence[Item]],
    work: Callable[[Sequence[Item]], Iterator[pa.RecordBatch]],
    schema: StructType,
) -> DataFrame:
    """Return the rows that ``work`` yields for every share, with one task for each. ``shares`` must not be empty."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from work(shares[number])

    return spark.range(0, len(shares), 1, len(shares)).mapInArrow(run, schema)


def distribute_groups(
    items: Sequence[Item], weight: Callable[[Item], int], max_shares: int, together: Callable[[Item], Hashable]
) -> list[list[Item]]:
    """Distribute items like ``distribute``. Those for which ``together`` returns the same go to one share, in order."""
    groups = grouped((together(each), each) for each in items)
    shares = distribute([*groups.values()], lambda group: sum(map(weight, group)), max_shares)
    return [[*chain.from_iterable(share)] for share in shares]


def distribute(items: Sequence[Item], weight: Callable[[Item], int], max_shares: int) -> list[list[Item]]:
    """Distribute items to at most ``max_shares`` shares: the heaviest item first, each to the lightest share."""
    shares: list[list[Item]] = [[] for _each in range(min(max(max_shares, 1), len(items)))]
    weights = [0] * len(shares)
    for item in sorted(items, key=weight, reverse=True):
        lightest = weights.index(min(weights))
        shares[lightest].append(item)
        weights[lightest] += weight(item)
    return [share for share in shares if share]


def slots(spark: SparkSession) -> int:
    """Return the number of tasks that Spark runs at once. A Spark Connect server only knows it if it is configured."""
    if type(spark).__module__.startswith(_CONNECT):
        return int(spark.conf.get(_PARALLELISM, _SLOTS_UNKNOWN) or _SLOTS_UNKNOWN)
    return spark.sparkContext.defaultParallelism
