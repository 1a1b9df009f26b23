# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one table of keys that orders the replicas of a partition, and its forms for Python and for Spark SQL.

Pure; standard library only. A key is a field of ``candidate.AnsweredLog``, and the column of the same name in
``rows.REPLICA_LOG_SCHEMA``. A value that is missing comes last, in either direction.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from operator import attrgetter
from typing import NamedTuple


class SortKey(NamedTuple):
    """One key of the order: the field, and whether its highest value comes first."""

    field: str
    highest_first: bool


HOLDS_MOST = (
    # A log without records has no epoch, and comes last.
    SortKey("last_written_epoch", highest_first=True),
    SortKey("log_end_offset", highest_first=True),
    # A replica of a tiered topic that was rebuilt from the tier has less on its own disk.
    SortKey("local_log_start_offset", highest_first=False),
    # If a log that begins later leads, the others delete their older records (KIP-107).
    SortKey("log_start_offset", highest_first=False),
)
"""The keys that say what a log holds."""
RANKING = (
    *HOLDS_MOST,
    # The first place in the replica list (KIP-966).
    SortKey("place", highest_first=False),
    SortKey("broker_id", highest_first=False),
)
"""The order of the replicas of one partition, the best one first."""


def python_order(keys: tuple[SortKey, ...] = RANKING) -> Callable[[object], list[float]]:
    """Return the function of these keys for ``sorted``. It needs at least two keys."""
    read = attrgetter(*(each.field for each in keys))
    signs = [-1 if each.highest_first else 1 for each in keys]

    def order(log: object) -> list[float]:
        return [inf if value is None else sign * value for sign, value in zip(signs, read(log), strict=True)]

    return order


def sql_order(keys: tuple[SortKey, ...] = RANKING) -> str:
    """Return the keys as the text after ORDER BY in Spark SQL."""
    return ", ".join(f"{each.field} {'DESC' if each.highest_first else 'ASC'} NULLS LAST" for each in keys)
