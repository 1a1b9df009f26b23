# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe what electing a candidate is expected to lose, for plans, reports and tables. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, TypeAlias

from .._model.fields import INT32_MAX, INT64_MAX, BrokerId, Meta, Moment
from .._model.log_contents import Stretches, records_in
from .._model.outage import UNKNOWN_PAST, Assumptions, Estimate, RecordedLoss, ReplicaPast, each_once, in_words
from .._model.reason import say
from .._model.reasons import plural
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
    log_ends_at: Moment | None = None
    """The timestamp of the newest record of the candidate."""
    lacks_seconds: Annotated[int, Meta("a number of seconds", minimum=0, maximum=INT32_MAX)] | None = None
    """The election gives up at most what was written in so many seconds before the leader was lost."""
    acks_all_lost: Annotated[int, Meta("a number of records", minimum=0, maximum=INT64_MAX, zero="none")] | None = None
    """The most records acknowledged with acks=all that are lost. 0 is a proof, by ``proof`` or by ``at_most``."""
    proof: str = ""
    """Why no record that was acknowledged with acks=all is lost, or why that is not known."""
    estimate: Estimate | None = None
    """How many records are lost that only the last leader held. Never a bound."""
    recorded: RecordedLoss | None = None
    """Of ``at_least``: what the silent last leader held beyond this log when it was recorded."""
    assumptions: Assumptions = ()
    """What ``acks_all_lost`` and ``lacks_seconds`` rest on that no log shows."""

    @property
    def bounded_seconds(self) -> int | None:
        """``lacks_seconds``, unless a replica that answered cannot be compared, so that it says nothing of the loss."""
        return None if any(each.is_incomparable for each in self.against) else self.lacks_seconds

    @property
    def past(self) -> ReplicaPast:
        """What was known of the candidate besides its log."""
        keeps = True if self.acks_all_lost == 0 and self.at_most != 0 else None
        return ReplicaPast(
            self.log_ends_at, self.lacks_seconds, keeps, self.proof, self.estimate, self.recorded, self.assumptions
        )


ExpectedLosses: TypeAlias = Annotated[tuple[ExpectedLoss, ...], Meta(description="the expected losses are a list")]


def describe_losses(
    forecasts: Iterable[Forecast], pasts: Mapping[int, ReplicaPast] = MappingProxyType({})
) -> tuple[ExpectedLoss, ...]:
    """Return the expected loss of each candidate. ``pasts`` is what is known besides the logs, by broker id."""
    return tuple(_describe_loss(each, _known_by_others(each, pasts)) for each in forecasts)


def _known_by_others(forecast: Forecast, pasts: Mapping[int, ReplicaPast]) -> ReplicaPast:
    """Return what is known of a candidate, also by another one: what is proven of a log is proven of one that holds it.

    A replica that left the ISR early may have caught up with one that left late. No record says so, but their logs do.
    """
    own = pasts.get(forecast.broker_id, UNKNOWN_PAST)
    if forecast.tier is not None and forecast.tier.missing:
        return own
    known = [own, *(_known_by(each.broker_id, pasts) for each in forecast.against if _holds(each, pasts))]
    timed = [each for each in known if each.lacks_seconds is not None]
    # What assumes least comes first, also before a shorter time.
    shortest = min(timed, key=lambda each: (len(each.assumptions), each.lacks_seconds), default=own)
    proven = min([each for each in known if each.keeps_acks_all], key=lambda each: len(each.assumptions), default=own)
    return replace(
        own,
        lacks_seconds=shortest.lacks_seconds,
        keeps_acks_all=proven.keeps_acks_all,
        proof=proven.proof,
        assumptions=each_once((*proven.assumptions, *shortest.assumptions)),
    )


def _known_by(broker_id: int, pasts: Mapping[int, ReplicaPast]) -> ReplicaPast:
    past = pasts[broker_id]
    return replace(past, proof=f"it holds all that broker {broker_id} holds, and {past.proof}")


def _holds(other: LossAgainst, pasts: Mapping[int, ReplicaPast]) -> bool:
    """Return whether the candidate holds each record that this other replica holds, of which something is known."""
    return other.broker_id in pasts and other.is_exact and not other.lost and not other.deleted


def _describe_loss(forecast: Forecast, past: ReplicaPast) -> ExpectedLoss:
    recorded = past.recorded
    if recorded is not None:
        silent = [each.broker_id for each in forecast.against if not each.answered]
        # If it answers now, its log says more. A bound that is known would contradict a greater number.
        recorded = recorded if recorded.broker_id in silent and forecast.at_most is None else None
    return ExpectedLoss(
        forecast.broker_id,
        max(forecast.at_least, recorded.records if recorded else 0),
        forecast.at_most,
        forecast.more_than_first,
        describe_forecast(forecast),
        forecast.against,
        past.log_ends_at,
        past.lacks_seconds,
        0 if past.keeps_acks_all else forecast.at_most,
        past.proof,
        past.estimate,
        recorded,
        past.assumptions if forecast.at_most != 0 else (),
    )


def explain_loss(loss: ExpectedLoss) -> Iterator[str]:
    """Yield what the election loses: by the logs, then in time, in promises, and in estimated records."""
    yield loss.explanation
    if loss.recorded is not None:
        yield describe_recorded(loss.recorded)
    yield from describe_past(loss)


def describe_recorded(recorded: RecordedLoss) -> str:
    """Say what the last leader held more when it was recorded."""
    return (
        f"when the silent last leader {recorded.broker_id} was recorded at {recorded.seen_at}, it held "
        f"{plural(recorded.records, 'record')} after the end of this log, which are lost unless an application has "
        "deleted them since (DeleteRecords), or dated them back by more than retention.ms"
    )


def describe_past(loss: ExpectedLoss) -> Iterator[str]:
    """Yield what the election gives up in time, in promises, and in estimated records, as far as it is known."""
    if loss.log_ends_at is not None and loss.at_most is None:
        yield f"its newest record is of {loss.log_ends_at}"
    if loss.bounded_seconds is not None and loss.at_most is None:
        yield (
            f"it gives up at most what was written in the last {in_words(loss.bounded_seconds)} before the leader was "
            "lost"
        )
    if loss.acks_all_lost == 0:
        # If no record is lost at all, that is proof enough.
        why = f": {loss.proof}" if loss.at_most != 0 and loss.proof else ""
        yield f"no record that was acknowledged with acks=all is lost{why}"
    if loss.estimate is not None and loss.at_most is None:
        estimate = loss.estimate
        yield f"estimated: about {plural(estimate.records, 'record')}, {estimate.low} to {estimate.high}"


def explain_estimate_refusal(limit: int, loss: ExpectedLoss) -> str | None:
    """Return why unclean_recovery_max_estimated_loss refuses the election; None if it does not.

    A bound that is known counts instead of the estimate. Without both, the limit may be exceeded.
    """
    is_comparable = not any(each.is_incomparable for each in loss.against)
    estimated = max(loss.estimate.high, loss.at_least) if loss.estimate is not None and is_comparable else None
    most = estimated if loss.at_most is None else loss.at_most
    if most is None:
        return say(
            "how many records electing {broker} loses can neither be bounded nor estimated, and the limit of the "
            "estimate is {limit}",
            broker=loss.broker_id,
            limit=limit,
        )
    if most <= limit:
        return None
    form = "electing {broker} loses records, estimated at up to {records}, and the limit of the estimate is {limit}"
    return say(form, broker=loss.broker_id, records=most, limit=limit)


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
    more = f" and {plural(len(ranges) - _MOST_RANGES, 'more range')}" if len(ranges) > _MOST_RANGES else ""
    return f"{named}{more} ({plural(records_in(stretches), 'record')})"


def _describe_known_loss(forecast: Forecast) -> str:
    losses = [
        f"offsets {describe_offsets(each.lost)} that replica {each.broker_id} holds"
        for each in forecast.against
        if each.answered and each.lost
    ]
    if losses:
        several = len(losses) > 1 or any(each.is_incomparable for each in forecast.against)
        total = f", {plural(forecast.at_least, 'record')} in all" if several else ""
        return f"loses {' and '.join(losses)}{total}"
    if forecast.lost:
        return f"loses at least offsets {describe_offsets(forecast.lost)}, which it does not have"
    compared = [each.broker_id for each in forecast.against if each.is_exact]
    if compared:
        holders = "replicas {} hold" if len(compared) > 1 else "replica {} holds"
        return f"loses nothing that {holders.format(', '.join(map(str, compared)))}"
    if any(each.undetermined for each in forecast.against):
        return "loses nothing for certain"
    return "cannot be compared with another replica"


def _describe_exceptions(forecast: Forecast) -> Iterator[str]:
    if forecast.more_than_first is not None and forecast.more_than_first < 0:
        yield f"that is {plural(-forecast.more_than_first, 'record')} fewer than electing rank 1"
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
