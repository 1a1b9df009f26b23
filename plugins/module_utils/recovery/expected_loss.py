# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What electing a candidate is expected to lose, as plans, reports and tables tell it. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.forecast import Forecast, LossAgainst
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.forecast_words import in_words


@dataclass(frozen=True, slots=True)
class ExpectedLoss:
    """A forecast with its totals, in records, and its words."""

    broker_id: int
    at_least: int
    at_most: int | None
    """None for "unknown", as long as a replica cannot be compared, or is silent without a bound."""
    more_than_first: int | None
    """How many records more than electing rank 1 would lose; negative for fewer. None when it cannot be told."""
    explanation: str
    against: tuple[LossAgainst, ...]


def expected_losses(forecasts: Iterable[Forecast]) -> tuple[ExpectedLoss, ...]:
    return tuple(
        ExpectedLoss(each.broker_id, each.at_least, each.at_most, each.more_than_first, in_words(each), each.against)
        for each in forecasts
    )
