# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what Spark found when it compared the replicas of each partition. This file defines its columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from .._model.log_contents import EpochRange, Stretches
from .forecast import Comparison, LossAgainst

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa

    _STRETCHES = pa.list_(
        pa.struct({"epoch": pa.int32(), "start_offset": pa.int64(), "end_offset": pa.int64()})  # EpochRange
    )
    AGAINST = pa.field(
        "against",
        pa.list_(
            pa.struct(
                {
                    "broker_id": pa.int32(),
                    "lost": _STRETCHES,
                    "divergence_offset": pa.int64(),
                    "earlier": _STRETCHES,
                }
            )
        ),
        metadata={
            "comment": "forecast.LossAgainst of every other replica that answered, by rank; null for a silent one"
        },
    )
    LOST = pa.field("lost", _STRETCHES, metadata={"comment": "forecast.Comparison.lost; null for a silent replica"})


def read_comparisons(rows: pa.RecordBatch) -> Iterator[Comparison]:
    """Yield the comparison of each row. It is empty for a silent replica."""
    against = rows.column(AGAINST.name)
    others = against.flatten()
    losses = map(
        _to_loss,
        others.field("broker_id").to_pylist(),
        _read_stretches(others.field("lost")),
        others.field("divergence_offset").to_pylist(),
        _read_stretches(others.field("earlier")),
    )
    for length, lost in zip(against.value_lengths().to_pylist(), _read_stretches(rows.column(LOST.name)), strict=True):
        yield Comparison(tuple(islice(losses, length or 0)), lost or ())


def _to_loss(
    broker_id: int, lost: Stretches | None, divergence_offset: int | None, earlier: Stretches | None
) -> LossAgainst:
    if divergence_offset is None:
        return LossAgainst(broker_id, True, lost, undetermined=earlier or ())
    return LossAgainst(broker_id, True, lost, divergence_offset, deleted=earlier or ())


def _read_stretches(column: pa.ListArray) -> Iterator[Stretches | None]:
    """Yield the stretches of an Arrow column. to_pylist would make a dict for each, which is slow."""
    entries = column.flatten()
    found = map(EpochRange, *(entries.field(name).to_pylist() for name in EpochRange._fields))
    for length in column.value_lengths().to_pylist():
        yield tuple(islice(found, length)) if length else () if length == 0 else None
