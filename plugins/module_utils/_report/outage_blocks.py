# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Show what happened before a run: who was in sync, who led, and when the leaders were lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from .._model.outage import IsrChange, OutageHistory
from .._model.partition import NO_LEADER, grouped
from .._model.reasons import agreeing, plural
from .._recovery.outcome import Outcome
from .blocks import Block, Picture, ReportParagraph, format_ids
from .charts import NO_LEADER_HATCHED, IsrBar, can_draw, draw_isr

_MAX_PICTURES = 6
_MOST_NAMES = 3
_MOST_BARS = 12
"""Changes of the ISR in one picture, the last ones."""
_MARGIN = 0.1
"""The part of the picture before the first change."""


_Shape: TypeAlias = "tuple[tuple[int, ...], tuple[tuple[int | None, tuple[int, ...] | None], ...]]"


def find_past_events(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, str]]:
    """Yield when brokers began to lead alone, and when leaders were lost, once for each broker: time and text."""
    histories = [each.history for each in outcomes if each.history is not None]
    alone = grouped((each.last_leader_id, each.alone_since) for each in histories if each.alone_since)
    lost = grouped((each.last_leader_id, each.leader_lost_at) for each in histories if each.leader_lost_at)
    for leader, times in alone.items():
        yield min(times), f"broker {leader} leads {plural(len(times), 'partition')} alone{_until(times)}"
    for leader, times in lost.items():
        yield min(times), f"{plural(len(times), 'partition')} lost the last leader, broker {leader}{_until(times)}"


def _until(times: Sequence[str]) -> str:
    first, last = min(times), max(times)
    return "" if first == last else f" (the last one at {last})"


def build_past_blocks(outcomes: Sequence[Outcome], begins_at: str | None) -> Iterator[Block]:
    """Draw the ISR of each group of partitions whose ISR changed in the same way, the largest group first.

    ``begins_at`` is when the first run looked at them.
    """
    unknown = [each for each in outcomes if each.history is None or each.history.leader_lost_at is None]
    missing = dict.fromkeys(why for each in unknown if each.history is not None for why in each.history.missing)
    because = f": {'; '.join(missing)}" if missing else ""
    if len(unknown) == len(outcomes):
        says = (
            f"When the leaders were lost is not known{because}."
            if because
            else "No document says when the leaders were lost."
        )
        yield ReportParagraph(f"{says} See the logs of the brokers and controllers.")
        return
    if unknown:
        yield ReportParagraph(
            f"When {plural(len(unknown), 'partition')} lost the leader is not known{because}.", "warning"
        )
    if not can_draw():
        return
    groups: dict[_Shape, list[tuple[Outcome, OutageHistory]]] = defaultdict(list)
    for outcome in outcomes:
        history = outcome.history
        if history is not None and history.leader_lost_at is not None and history.isr_changes:
            changes = _relevant_changes(history, len(outcome.replicas))
            shape = tuple((each.leader_id, each.isr) for each in changes)
            groups[tuple(sorted(outcome.replicas)), shape].append((outcome, history))
    found = sorted(groups.values(), key=len, reverse=True)
    for group in found[:_MAX_PICTURES]:
        yield _draw(group, begins_at)
    if len(found) > _MAX_PICTURES:
        rest = sum(len(each) for each in found[_MAX_PICTURES:])
        groups_left = plural(len(found) - _MAX_PICTURES, "more group")
        yield ReportParagraph(f"{plural(rest, 'partition')} in {groups_left} {agreeing('are', rest)} not drawn.")


def _draw(group: Sequence[tuple[Outcome, OutageHistory]], begins_at: str | None) -> Picture:
    """Draw the partition of the group that lost its leader first. The others differ in their times only."""
    example, history = min(group, key=lambda each: each[1].leader_lost_at or "")
    changes = _relevant_changes(history, len(example.replicas))
    times = [_ms(each.at) for each in changes]
    ends = max(_ms(begins_at) if begins_at else 0, times[-1] + 1000)
    # The state before the first change may be hours old.
    known = times[1] if len(times) > 1 else times[0]
    begins = max(times[0], known - round((ends - known) * _MARGIN) - 1000)
    bars = []
    for change, start, end in zip(changes, [begins, *times[1:]], [*times[1:], ends], strict=True):
        if change.leader_id == NO_LEADER:
            bars += [IsrBar(str(each), start, end, NO_LEADER_HATCHED) for each in example.replicas]
            continue
        for broker in change.isr or ():
            bars.append(IsrBar(str(broker), start, end, "leads" if broker == change.leader_id else "in sync"))
    named = [f"{each.topic}-{each.partition}" for each, _history in group[:_MOST_NAMES]]
    more = f" and {len(group) - _MOST_NAMES:,} more" if len(group) > _MOST_NAMES else ""
    title = f"{plural(len(group), 'partition')}: {', '.join(named)}{more}"
    caption = f"{'; '.join(_describe(changes))}. Times are UTC."
    return Picture(title, draw_isr(bars, [str(each) for each in sorted(example.replicas)], caption), caption)


def _describe(changes: Sequence[IsrChange]) -> Iterator[str]:
    for number, each in enumerate(changes):
        at = each.at[11:23]
        if each.leader_id == NO_LEADER:
            yield f"no leader from {at}"
        elif not number:
            yield f"at first {format_ids(each.isr)} in sync"
        else:
            yield f"{format_ids(each.isr)} from {at}, led by {each.leader_id}"


def _relevant_changes(history: OutageHistory, replicas: int) -> list[IsrChange]:
    """Return the changes from the last time at which all replicas were in sync until the leader was lost for good."""
    changes = [*history.isr_changes]
    full = [at for at, each in enumerate(changes) if each.isr is not None and len(each.isr) >= replicas]
    found = changes[full[-1] if full else 0 :]
    return found[-_MOST_BARS:]


def _ms(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)
