# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pictures of the logs of partitions, and of what was lost and saved of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .._model.partition import TopicPartition
from .._recovery.expected_loss import ExpectedLoss
from .._recovery.plan import Outcome, Status
from .._recovery.verdict import LossTotal, loss_in_words
from .blocks import Block, Paragraph, Picture
from .charts import are_available, extents_chart
from .extents import Saved, Stretch, extents

MAX_PICTURES = 50
_MOST_SAVED = 3


def pictures(
    groups: Sequence[Sequence[Outcome]], salvages: Mapping[TopicPartition, Sequence[Saved]]
) -> Iterator[Block]:
    """Pictures of the logs of each group: all partitions that lose records, worst first, or one that stands for all."""
    if not are_available():
        yield Paragraph("Pictures of the logs are missing: vl-convert-python is not installed.", "warning")
        return
    yield Paragraph(
        "One bar for each replica, from its log start offset (thick mark) to its log end. Colors are leader epochs. "
        "Red offsets are on this replica and not on the elected one: they are lost. A dashed line shows where two logs "
        "part. A hatched bar is a replica that did not answer: what it holds is unknown. Offsets in a thick frame were "
        "saved."
    )
    drawn = 0
    for place, outcomes in enumerate(groups):
        share = max(1, (MAX_PICTURES - drawn) // (len(groups) - place))
        for outcome in sorted(outcomes, key=_known_loss, reverse=True)[:share]:
            logs = extents(outcome, salvages.get(outcome.topic_partition, ()))
            if logs is None or drawn >= MAX_PICTURES:
                break
            drawn += 1
            title = f"{outcome.topic}-{outcome.partition}"
            cut = f" All replicas hold the same before offset {logs.first:,}." if logs.is_cut else ""
            status = outcome.status.value.replace("_", " ")
            caption = f"{status}; {_loss_of(outcome)}.{_kept(logs.saved)}{cut}"
            yield Picture(title, extents_chart(logs, f"Logs of {title}: {caption}"), caption)
            if not _known_loss(outcome):
                break


def _kept(saved: Sequence[Stretch]) -> str:
    named = [f"{each.start:,} to {each.end - 1:,} of broker {each.replica.split()[0]}" for each in saved]
    more = len(named) - _MOST_SAVED
    return (
        f" Saved: {', '.join(named[:_MOST_SAVED])}{f' and {more:,} more ranges' if more > 0 else ''}." if saved else ""
    )


def forecast_of(outcome: Outcome, broker_id: int | None) -> ExpectedLoss | None:
    """Return what electing this broker loses; None where nothing is known."""
    return next((each for each in outcome.losses if each.broker_id == broker_id), None)


def _known_loss(outcome: Outcome) -> int:
    leader = outcome.designated_leader
    best = outcome.candidates[0].broker_id if outcome.candidates else None
    loss = forecast_of(outcome, best if leader is None else leader)
    return 0 if loss is None else loss.at_least


def _loss_of(outcome: Outcome) -> str:
    leader = outcome.designated_leader
    broker = outcome.candidates[0].broker_id if leader is None else leader
    loss = forecast_of(outcome, broker)
    if loss is None:
        return "the loss is unknown"
    total = LossTotal(loss.at_least, loss.at_most, 1 if loss.at_most is None else 0)
    verb = {Status.RECOVERED: "lost"}.get(outcome.status, f"electing broker {broker} would lose")
    return f"{verb}: {loss_in_words(total)}"
