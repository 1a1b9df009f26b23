# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe what electing a candidate is expected to lose, for plans, reports and tables. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from .._model.fields import INT64_MAX, BrokerId, Meta
from .._model.log_contents import Stretches, records_in
from .forecast import Forecast, LossAgainst

Records: TypeAlias = Annotated[int, Meta("a number of records", minimum=0, maximum=INT64_MAX)]


@dataclass(frozen=True, slots=True)
class ExpectedLoss:
    """A forecast with its totals, in records, and its explanation."""

    broker_id: BrokerId
    at_least: Records
    at_most: Records | None
    """None if unknown, because a replica cannot be compared, or is silent and has no bound."""
    more_than_first: Annotated[int, Meta("a difference of records", minimum=-INT64_MAX, maximum=INT64_MAX)] | None
    """How many more records are lost than by electing rank 1; negative for fewer. None if unknown."""
    explanation: str
    against: Annotated[
        tuple[Annotated[LossAgainst, Meta(description="a comparison is an object")], ...],
        Meta(description="the comparisons are a list"),
    ]


ExpectedLosses: TypeAlias = Annotated[tuple[ExpectedLoss, ...], Meta(description="the expected losses are a list")]


def describe_losses(forecasts: Iterable[Forecast]) -> tuple[ExpectedLoss, ...]:
    return tuple(
        ExpectedLoss(
            each.broker_id, each.at_least, each.at_most, each.more_than_first, describe_forecast(each), each.against
        )
        for each in forecasts
    )


_MOST_RANGES = 3


def describe_forecast(forecast: Forecast) -> str:
    """Return one line such as "electing 2 loses offsets 100..149 (50 records) that replica 3 holds"."""
    return "; ".join(
        [f"electing {forecast.broker_id} {_describe_known_loss(forecast)}", *_describe_exceptions(forecast)]
    )


def describe_offsets(stretches: Stretches) -> str:
    """Return first and last offsets, and the number of records, such as "100..149, 200..209 (60 records)".

    Stretches that touch or overlap are one range, even if their epochs differ.
    """
    ranges = list(_join_ranges(stretches))
    named = ", ".join(f"{first}..{last}" if first < last else str(first) for first, last in ranges[:_MOST_RANGES])
    more = f" and {len(ranges) - _MOST_RANGES} ranges more" if len(ranges) > _MOST_RANGES else ""
    return f"{named}{more} ({_count_records(records_in(stretches))})"


def _describe_known_loss(forecast: Forecast) -> str:
    losses = [
        f"offsets {describe_offsets(each.lost)} that replica {each.broker_id} holds"
        for each in forecast.against
        if each.answered and each.lost
    ]
    if losses:
        several = len(losses) > 1 or any(each.is_incomparable for each in forecast.against)
        total = f", {_count_records(forecast.at_least)} in all" if several else ""
        return f"loses {' and '.join(losses)}{total}"
    if forecast.lost:
        return f"loses at least offsets {describe_offsets(forecast.lost)}, which it does not have"
    compared = [each.broker_id for each in forecast.against if each.is_exact]
    if compared:
        return f"loses nothing that replica{'s' if len(compared) > 1 else ''} {_list_ids(compared)} holds"
    if any(each.undetermined for each in forecast.against):
        return "loses nothing for certain"
    return "cannot be compared with another replica"


def _describe_exceptions(forecast: Forecast) -> Iterator[str]:
    if forecast.more_than_first is not None and forecast.more_than_first < 0:
        yield f"that is {_count_records(-forecast.more_than_first)} fewer than electing rank 1"
    for each in forecast.against:
        if not each.answered:
            yield f"against silent replica {each.broker_id}: {_describe_silent(each)}"
        elif each.lost is None:
            yield (
                f"against replica {each.broker_id}: unknown, since records without a known leader epoch cannot be "
                "compared"
            )
        elif each.deleted:
            also = f"replica {each.broker_id} also deletes offsets {describe_offsets(each.deleted)}"
            yield f"{also}, as this replica has already"
        elif each.undetermined:
            also = f"replica {each.broker_id} also deletes offsets {describe_offsets(each.undetermined)}"
            yield f"{also}, before this replica's log start offset: whether it ever held them is unknown"
    if forecast.tier is not None:
        yield from forecast.tier.describe()


def _describe_silent(loss: LossAgainst) -> str:
    if loss.lost is None:
        return "unknown"
    if loss.holds_no_more_than is not None:
        return f"it holds nothing that replica {loss.holds_no_more_than}, the only leader ever, does not hold"
    if not loss.lost:
        return "an unknown number of records"
    return f"at least offsets {describe_offsets(loss.lost)}, upper bound unknown"


def _join_ranges(stretches: Stretches) -> Iterator[tuple[int, int]]:
    first, last = None, -1
    for each in sorted(stretches, key=lambda one: one.start_offset):
        if first is not None and each.start_offset <= last + 1:
            last = max(last, each.end_offset - 1)
            continue
        if first is not None:
            yield first, last
        first, last = each.start_offset, each.end_offset - 1
    if first is not None:
        yield first, last


def _count_records(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"


def _list_ids(broker_ids: Iterable[int]) -> str:
    return ", ".join(map(str, broker_ids))
