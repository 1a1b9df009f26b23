# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe a recovery in one sentence: how many partitions have a leader again, and the loss. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .._model.outage import Assumption, describe_assumptions, in_words
from .._model.reasons import plural

_OTHERS = ("refused", "unrecoverable", "unknown", "failed")


@dataclass(frozen=True, slots=True)
class LossTotal:
    """Records that the elections of several partitions lose."""

    at_least: int
    at_most: int | None
    """None if it is unknown for at least one partition."""
    unbounded: int
    """The number of partitions for which ``at_most`` is unknown."""
    left_empty: int = 0
    """The number of partitions whose elected log is empty, although records exist elsewhere, or may exist."""
    with_gap: int = 0
    """The number of partitions whose elected log ends before the log of another replica begins."""
    seconds: int | None = None
    """In how many seconds the lost records of the ``timed`` partitions were written, at most. None if there is none."""
    estimated: tuple[int, int, int] | None = None
    """Estimated records of the ``estimates`` partitions, with low and high. None if there is none."""
    keeps_acks_all: bool = False
    """It is proven for each partition that no record is lost that was acknowledged with acks=all."""
    timed: int = 0
    """Of ``unbounded``: the number of partitions for which ``seconds`` holds."""
    estimates: int = 0
    """Of ``timed``: the number of partitions that have an estimate."""
    assumptions: tuple[Assumption, ...] = ()
    """What ``seconds`` and ``keeps_acks_all`` rest on that no log shows."""


@dataclass(frozen=True, slots=True)
class Writability:
    """How many of the partitions that have a leader after a run take records with acks=all."""

    writable: int
    led: int
    unknown: int
    """Partitions whose ISR or min.insync.replicas could not be read."""


def describe_doubtful(led_by_silent: int, led_by_replaced: int) -> str:
    """Return a sentence for each kind of partition whose leader may be none, each with a space at its end."""
    counts = {
        "by brokers that do not answer": led_by_silent,
        "by logs that seem to be on new disks: save the disks of their other replicas before these are started": (
            led_by_replaced
        ),
    }
    return "".join(
        f"{count:,} partition{' is' if count == 1 else 's are'} led {how}. " for how, count in counts.items() if count
    )


def describe_recovery(
    counts: Mapping[str, int], loss: LossTotal | None, first_step: str, writability: Writability | None = None
) -> str:
    """Return the result of a recovery in one sentence.

    ``counts`` are numbers of partitions by status. ``first_step`` is from ``next_way.describe_first``; empty if none.
    ``writability`` is None for a run that elected nothing.
    """
    total = sum(counts.values())
    if not total:
        return "No partition is offline."
    done, would, online = (counts.get(each, 0) for each in ("recovered", "would_recover", "already_online"))
    clauses = []
    if would:
        clauses.append(f"{would:,} of {plural(total, 'partition')} would be recovered")
    if done or (counts.get("failed") and not (would or online)):
        clauses.append(f"{done:,} of {plural(total, 'partition')} recovered")
    elif not (would or online):
        # Nothing was tried, so a look and a run that refuses say the same.
        clauses.append(f"0 of {plural(total, 'partition')} can be recovered now")
    if online:
        clauses.append(
            f"{online:,} already online" if clauses else f"{online:,} of {plural(total, 'partition')} already online"
        )
    if loss is not None and (done or would):
        clauses.append(describe_loss(loss, done + would, is_done=bool(done)))
        clauses += _describe_dangers(loss, is_done=bool(done))
    if writability is not None and writability.led:
        clauses.append(_describe_writability(writability))
    for each in _OTHERS:
        if counts.get(each):
            first = f", {first_step}" if each == "refused" and first_step else ""
            clauses.append(f"{counts[each]:,} {each}{first}")
    return "; ".join(clauses) + "."


def _describe_writability(found: Writability) -> str:
    text = f"writable with acks=all: {found.writable:,} of {found.led:,}"
    return f"{text}, {found.unknown:,} unknown" if found.unknown else text


def _describe_dangers(loss: LossTotal, *, is_done: bool) -> Iterator[str]:
    if count := loss.left_empty:
        verb = ("was" if count == 1 else "were") if is_done else "would be"
        yield f"{plural(count, 'partition')} {verb} left empty"
    if count := loss.with_gap:
        yield f"in {plural(count, 'partition')}, no replica holds the records of a gap"


def describe_loss(loss: LossTotal, elections: int, *, is_done: bool) -> str:
    """Return the loss of a number of elections as a clause, such as "at least 5 records were lost"."""
    were = "were" if is_done else "would be"
    if loss.at_most is None:
        unbounded = f" for {plural(loss.unbounded, 'partition')}" if elections > 1 else ""
        if loss.seconds is not None:
            least = f"at least {_count_lost(loss.at_least, is_done=is_done)}, and " if loss.at_least else ""
            timed = f" for {plural(loss.timed, 'partition')}" if elections > 1 else ""
            text = f"{least}at most {in_words(loss.seconds)} of writes {were} lost{timed}"
        elif not loss.at_least:
            text = f"whether records {were} lost is unknown{unbounded}"
        else:
            text = f"at least {_count_lost(loss.at_least, is_done=is_done)}, and how many more is unknown{unbounded}"
        known = ", ".join([text, *describe_knowledge(loss)])
        not_timed = loss.unbounded - loss.timed
        return (
            f"{known}; the loss of {plural(not_timed, 'partition')} is unknown" if loss.timed and not_timed else known
        )
    if not loss.at_most:
        return f"no record {'was' if is_done else 'would be'} lost"
    if loss.at_least == loss.at_most:
        return _count_lost(loss.at_least, is_done=is_done)
    return f"{loss.at_least:,} to {_count_lost(loss.at_most, is_done=is_done)}"


def describe_knowledge(loss: LossTotal) -> Iterator[str]:
    """Yield what is known of a loss without an upper bound, as clauses."""
    if loss.estimated is not None:
        records, low, high = loss.estimated
        some = f" for {loss.estimates:,} of them" if loss.estimates < loss.timed else ""
        yield f"estimated{some}: about {plural(records, 'record')}, {low:,} to {high:,}"
    promise = "none of them was acknowledged with acks=all" if loss.keeps_acks_all else ""
    if known := ", ".join(filter(None, [promise, describe_assumptions(loss.assumptions)])):
        yield known


def _count_lost(count: int, *, is_done: bool) -> str:
    return f"{plural(count, 'record')} {('was' if count == 1 else 'were') if is_done else 'would be'} lost"


def describe_engine(engine: Mapping[str, str] | None) -> str:
    """Return which engine ranked the replicas, as a clause. Empty if none did. ``engine`` is a result or report."""
    if not engine:
        return ""
    name = "by Spark" if engine["name"] == "spark" else "by the module's own process, without Spark"
    return f"replicas ranked {name}{': ' if engine['reason'] else ''}{engine['reason']}"
