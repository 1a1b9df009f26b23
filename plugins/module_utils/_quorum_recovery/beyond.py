# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define what another copy of the metadata log holds and the one that goes on lacks. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from .._model.fields import Count, Meta, NodeId
from .._model.log_contents import Stretches

_Ids = Annotated[tuple[NodeId, ...], Meta(description="the brokers are a list of ids")]


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Partitions with the same overtaken replicas."""

    stale: _Ids
    """The brokers that only the recovered log takes for in sync."""
    in_sync: _Ids
    """Those that hold all committed records by the newest records, the last leader first."""
    partitions: Annotated[tuple[str, ...], Meta(description="the partitions are a list of names")]
    """As "orders-0"."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """What another copy holds and the winner lacks."""

    host: str
    node_id: NodeId | None
    is_controller: bool
    ranges: Stretches
    records: Count
    says: tuple[str, ...]
    """What these records say, in words. Empty until they were read."""
    overtaken: tuple[Overtaken, ...] = ()
    """The replicas that these records took out of the ISR."""
    records_in_snapshot: Count = 0
    """How many of the records are only in its snapshot, which does not have them, but what they led to."""


def newest_overtaken(forgotten: Sequence[Beyond]) -> tuple[Overtaken, ...]:
    """Return what the newest of several copies says of overtaken replicas."""
    newest = max(forgotten, key=lambda each: (each.ranges[-1].epoch, each.ranges[-1].end_offset), default=None)
    return newest.overtaken if newest is not None else ()


def brokers_to_start_last(overtaken: Iterable[Overtaken]) -> tuple[int, ...]:
    """Return the brokers with overtaken replicas."""
    return tuple(sorted({broker for each in overtaken for broker in each.stale}))
