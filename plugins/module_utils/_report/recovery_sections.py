# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the sections about a recovery: brokers, groups of partitions, lost records, leaders, aftermath."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from .._documents.dataclass_json import codec
from .._model.partition import TopicPartition, grouped
from .._model.reasons import join_first, plural, ranges
from .._recovery.groups import ELECTED, Members, count_writable, group_outcomes, total_loss
from .._recovery.outcome import Outcome
from .._recovery.plan import DONE, Status
from .._recovery.verdict import describe_loss, describe_recovery
from .blocks import (
    MAX_ROWS,
    Block,
    Cell,
    Folded,
    NextStep,
    Picture,
    ReportParagraph,
    ReportTable,
    Section,
    Steps,
    build_leadership_table,
    find_leaders,
    first_rows,
    format_ids,
    in_words,
    number_cell,
    partition_cell,
)
from .charts import can_draw, draw_bars, draw_logs
from .extents import Saved, describe_other_leader
from .incident import Incident

_MAX_TOPICS = 8
_TONES = {
    Status.RECOVERED: "good",
    Status.ALREADY_ONLINE: "good",
    Status.WOULD_RECOVER: "warning",
    Status.REFUSED: "warning",
    Status.UNKNOWN: "bad",
    Status.FAILED: "bad",
    Status.UNRECOVERABLE: "bad",
}
_OUTCOME = codec(Outcome)


def read_outcomes(report: dict[str, Any]) -> tuple[Outcome, ...]:
    """Return the outcomes of a recovery report that was validated by its schema."""
    return tuple(_OUTCOME.decode(_without_hidden_comparisons(each)) for each in report["partitions"])


def _without_hidden_comparisons(partition: dict[str, Any]) -> dict[str, Any]:
    """Remove the comparisons that no picture needs: they are most of a large report."""
    best = [each["brokerId"] for each in partition["candidates"][:1]]
    drawn = {partition["designatedLeader"], partition["leaderAfter"], *best}
    losses = [each if each["brokerId"] in drawn else {**each, "against": []} for each in partition["losses"]]
    return {**partition, "losses": losses}


def build_recovery_verdict(incident: Incident, first_step: str, account: str) -> str:
    """Return the first sentences of the page. ``account``, if given, replaces the forecast of the loss."""
    loss = None if account else total_loss(incident.outcomes)
    counts = Counter(each.status.value for each in incident.outcomes)
    sentences = [describe_recovery(counts, loss, first_step, count_writable(incident.outcomes))]
    if incident.earlier and not account:
        count = len(incident.earlier)
        lost = describe_loss(total_loss(incident.earlier), count, is_done=True)
        sentences.append(f"{plural(count, 'earlier election')} of the same partitions: {lost}.")
    return " ".join(filter(None, [*sentences, account]))


def judge_recovery(incident: Incident, *, is_settled: bool | None) -> str:
    """Return the tone of the verdict: good only if every partition has a leader, and surely no record is lost.

    ``is_settled`` says whether salvages and replays settled all losses. It is None if there are none.
    """
    statuses = {each.status for each in incident.outcomes}
    if Status.FAILED in statuses:
        return "bad"
    if is_settled is None:
        loss = total_loss([*incident.outcomes, *incident.earlier])
        is_settled = loss.at_most == 0 and not loss.with_gap
    takes_records = all(
        each.is_writable or (each.is_writable is None and each.status is not Status.RECOVERED)
        for each in incident.outcomes
        if each.status in DONE
    )
    return "good" if statuses <= DONE and is_settled and takes_records else "warning"


def build_recovery_sections(
    incident: Incident,
    brokers: Sequence[dict[str, Any]],
    aftermath: Sequence[Any],
    salvages: Mapping[TopicPartition, Sequence[Saved]],
) -> Iterator[Section]:
    """Build all sections about the outcomes. The pictures show saved offsets."""
    if brokers:
        yield build_brokers_section(brokers)
    groups = group_outcomes(incident.outcomes)
    racks = {each["brokerId"]: each["rack"] for each in brokers if each["rack"]}
    yield Section("Partitions by group", tuple(_build_group_blocks(groups, salvages, racks)))
    elected = [each for each in (*incident.outcomes, *incident.earlier) if each.status in ELECTED]
    if elected:
        yield Section("Records that the elections lose, by forecast", tuple(_build_loss_blocks(elected)))
        yield Section("New leaders by broker", tuple(_build_leader_blocks(incident.outcomes)))
    if aftermath:
        yield Section("Left behind", (_build_checklist(aftermath),))
    yield Section("Each partition", (_build_partition_table(groups),))


def build_brokers_section(brokers: Sequence[dict[str, Any]]) -> Section:
    """Build the table of a report's brokers. Brokers that are not online come first."""
    rows = [
        (
            number_cell(each["brokerId"]),
            Cell("unknown" if each["host"] is None else f"{each['host']}:{each['port']}"),
            Cell(each["rack"] or "none"),
            Cell(in_words(each["state"]), "good" if each["state"] == "online" else "bad"),
            Cell(each["cause"] or "none"),
        )
        for each in sorted(brokers, key=lambda broker: (broker["state"] == "online", broker["brokerId"]))
    ]
    online = sum(each["state"] == "online" for each in brokers)
    caption = f"{online} of {plural(len(brokers), 'broker')} online"
    return Section("Brokers", (ReportTable(caption, ("Broker", "Address", "Rack", "State", "Cause"), tuple(rows)),))


def _build_group_blocks(
    groups: Sequence[Members], salvages: Mapping[TopicPartition, Sequence[Saved]], racks: Mapping[int, str]
) -> Iterator[Block]:
    rows = tuple(
        (
            number_cell(each.group.partitions),
            Cell(in_words(each.group.status), _TONES[each.group.status]),
            Cell(_topics(each.outcomes)),
            Cell(_leaders_of(each.outcomes, racks)),
            Cell("; ".join(filter(None, [each.group.reason, *_other_leaders(each.outcomes)]))),
            Cell(_loss_of(each)),
        )
        for each in groups
    )
    yield ReportTable("All partitions", ("Count", "Status", "Partitions", "Leader", "Reason", "Loss"), rows)
    for each in groups:
        topics = {one.topic for one in each.outcomes}
        if len(topics) > _MAX_TOPICS:
            title = (
                f"All {plural(len(topics), 'topic')} of the {plural(each.group.partitions, 'partition')}: "
                f"{in_words(each.group.status)}"
            )
            yield Folded(title, "\n".join(_topic_lines(each.outcomes)))
    yield from draw_logs([each.outcomes for each in groups], salvages)


def _leaders_of(outcomes: Sequence[Outcome], racks: Mapping[int, str]) -> str:
    counts = Counter(each.final_leader for each in outcomes)
    named = [
        f"{_leader(leader)} ({count:,}{f', rack {racks[leader]}' if leader is not None and leader in racks else ''})"
        for leader, count in counts.most_common(_MAX_TOPICS)
    ]
    more = len(counts) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _other_leaders(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a clause for each pair of a planned leader and another one that leads."""
    counts = Counter(filter(None, map(describe_other_leader, outcomes)))
    said = [f"{text} ({plural(count, 'partition')})" for text, count in counts.most_common(_MAX_TOPICS)]
    more = len(counts) - len(said)
    return said + ([f"and {more:,} other pairs of leaders"] if more else [])


def _loss_of(members: Members) -> str:
    if members.group.status is Status.ALREADY_ONLINE:
        return "no election"
    return members.group.loss or "nothing was compared"


def _build_loss_blocks(elected: Sequence[Outcome]) -> Iterator[Block]:
    yield ReportTable("By topic", ("Topic", "Elections", "At least", "At most"), tuple(_loss_rows(elected)))
    yield ReportParagraph("The same partitions if other replicas were elected, in records:")
    rows = [_build_decision_row("this run: the best replica that can lead", elected, lambda one: one.designated_leader)]
    rows.append(
        _build_decision_row(
            "Kafka's own unclean election: the first live replica in order", elected, _choose_first_live
        )
    )
    most = max((len(each.candidates) for each in elected), default=0)
    rows += [
        _build_decision_row(f"the replica of rank {rank}", elected, partial(_choose_by_rank, rank))
        for rank in range(2, most + 1)
    ]
    yield ReportTable("By decision", ("Decision", "Partitions", "At least", "At most"), tuple(rows))
    waiting = len(elected)
    yield ReportParagraph(
        f"The strategies none and balanced lose nothing while they wait: "
        f"{plural(waiting, 'partition')} would have stayed offline until the awaited brokers return."
    )


def _build_decision_row(
    name: str, outcomes: Sequence[Outcome], choose: Callable[[Outcome], int | None]
) -> tuple[Cell, ...]:
    losses = [each.loss_of(broker) for each in outcomes if (broker := choose(each)) is not None]
    known = [each for each in losses if each is not None]
    most = [each.at_most for each in known if each.at_most is not None]
    at_most = sum(most) if known and len(most) == len(losses) else None
    return (
        Cell(name),
        number_cell(len(losses)),
        number_cell(sum(each.at_least for each in known) if known else None),
        number_cell(at_most),
    )


def _loss_rows(elected: Sequence[Outcome]) -> Iterator[tuple[Cell, ...]]:
    topics = grouped((each.topic, each) for each in elected)
    totals = {topic: total_loss(members) for topic, members in topics.items()}
    total = total_loss(elected)
    yield Cell("all topics"), number_cell(len(elected)), number_cell(total.at_least), number_cell(total.at_most)
    worst = sorted(totals, key=lambda topic: (-totals[topic].at_least, topic))
    for topic in worst[:MAX_ROWS]:
        yield (
            Cell(topic),
            number_cell(len(topics[topic])),
            number_cell(totals[topic].at_least),
            number_cell(totals[topic].at_most),
        )
    if len(worst) > MAX_ROWS:
        yield Cell(plural(len(worst) - MAX_ROWS, "more topic")), number_cell(None), number_cell(None), number_cell(None)


def _build_leader_blocks(outcomes: Sequence[Outcome]) -> Iterator[Block]:
    before = Counter(each.leader_before for each in outcomes)
    after = Counter(each.final_leader for each in outcomes)
    brokers = find_leaders(before, after)
    yield build_leadership_table(before, after)
    if can_draw() and brokers:
        bars = [
            {"name": f"broker {each}", "when": when, "partitions": count[each]}
            for each in brokers
            for when, count in (("before", before), ("after", after))
        ]
        label = "Leaderships by broker, before and after"
        yield Picture(
            label,
            draw_bars(bars, value="partitions", by="when", title="partitions", label=label),
            "The same numbers as a picture.",
        )


def _build_checklist(aftermath: Sequence[dict[str, Any]]) -> Steps:
    said = grouped((each["explanation"], each) for each in aftermath)
    steps = []
    for explanation, about in list(said.items())[:MAX_ROWS]:
        lines = _topic_lines_of((each["topic"], each["partition"]) for each in about if each["topic"] is not None)
        named = join_first(lines, _MAX_TOPICS)
        steps.append(NextStep(f"{named}: {explanation}" if named else explanation))
    if len(said) > MAX_ROWS:
        steps.append(NextStep(f"{len(said) - MAX_ROWS:,} more; the report file has all of them"))
    return Steps(tuple(steps))


def _build_partition_table(groups: Sequence[Members]) -> ReportTable:
    outcomes = [outcome for each in groups for outcome in each.outcomes]
    columns = (
        "Partition",
        "Status",
        "Leader before",
        "Leader after",
        "ISR before",
        "ELR before",
        "Last known ELR",
        "Reason",
    )
    return first_rows("Worst first", columns, outcomes, _partition_row, open_rows=0)


def _partition_row(outcome: Outcome) -> tuple[Cell, ...]:
    return (
        partition_cell(outcome.topic, outcome.partition),
        Cell(in_words(outcome.status), _TONES[outcome.status]),
        Cell(_leader(outcome.leader_before)),
        Cell(_leader(outcome.final_leader)),
        *(Cell(format_ids(ids)) for ids in (outcome.isr, outcome.elr, outcome.last_known_elr)),
        Cell("; ".join(filter(None, [outcome.reason, describe_other_leader(outcome)]))),
    )


def _choose_first_live(outcome: Outcome) -> int | None:
    able = {each.broker_id for each in outcome.candidates if "fenced" not in each.flags}
    return next((each for each in outcome.replicas if each in able), None)


def _choose_by_rank(rank: int, outcome: Outcome) -> int | None:
    return next((each.broker_id for each in outcome.candidates if each.rank == rank), None)


def _leader(broker_id: int | None) -> str:
    return {None: "unknown", -1: "none"}.get(broker_id, str(broker_id))


def _topics(outcomes: Iterable[Outcome]) -> str:
    lines = _topic_lines(outcomes)
    more = len(lines) - _MAX_TOPICS
    return "; ".join(lines[:_MAX_TOPICS]) + (f"; and {more:,} more topics" if more > 0 else "")


def _topic_lines(outcomes: Iterable[Outcome]) -> list[str]:
    return _topic_lines_of((each.topic, each.partition) for each in outcomes)


def _topic_lines_of(partitions: Iterable[tuple[str, int]]) -> list[str]:
    return [f"{topic} {ranges(numbers)}" for topic, numbers in sorted(grouped(partitions).items())]
