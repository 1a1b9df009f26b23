# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the sections about the other documents: quorum, log cleaners, leadership, survey, evidence, readiness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._cleaner.diagnosis import HEALTHY_CASES
from .._model.partition import PartitionState
from .._model.reasons import plural
from .._recovery.expected_loss import describe_losses
from .._recovery.forecast import forecast_losses
from .._recovery.outcome import Outcome
from .._recovery.plan import Status
from .blocks import (
    MAX_ROWS,
    Block,
    Cell,
    NextStep,
    ReportParagraph,
    ReportTable,
    Section,
    Steps,
    build_leadership_table,
    first_rows,
    format_ids,
    in_words,
    number_cell,
    partition_cell,
)
from .charts import draw_logs

if TYPE_CHECKING:
    from .._recovery.evidence import Evidence
    from .._recovery.rows import RankedPartition

_SEVERITY_TONES = {"critical": "bad", "warning": "warning", "info": ""}
_CHECK_TONES = {"failed": "bad", "unknown": "bad", "warning": "warning", "ok": "good"}
_CHECK_WORDS = {"failed": "failed", "unknown": "could not be found out", "warning": "warning", "ok": "fine"}


def build_quorum_section(report: dict[str, Any]) -> Section:
    """Build the section with verdict, findings and members of the controller quorum."""
    elections = report["verdicts"]["elections"]
    allowed = "Elections may be requested." if elections["allowed"] else "Elections must not be requested."
    findings = tuple(
        (
            Cell(each["severity"], _SEVERITY_TONES[each["severity"]]),
            Cell(in_words(each["kind"])),
            Cell(", ".join(map(str, each["nodeIds"])) or "none"),
            Cell(", ".join(f"{one['name']} {one['value']}" for one in each["evidence"])),
            Cell(each["meaning"]),
            Cell(each["remedy"]),
        )
        for each in report["findings"]
    )
    members = tuple(
        (
            number_cell(each["replicaId"]),
            Cell("leader" if each["replicaId"] == report["leaderId"] else role),
            number_cell(each["logEndOffset"]),
            number_cell(each["lagRecords"]),
            Cell("yes", "good") if each["isCaughtUp"] else Cell("no", "bad"),
        )
        for role, nodes in (("voter", report["voters"]), ("observer", report["observers"]))
        for each in nodes
    )
    return Section(
        "Controller quorum",
        (
            ReportParagraph(" ".join([allowed, *elections["reasons"]]), "good" if elections["allowed"] else "bad"),
            ReportTable("Findings", ("Severity", "Finding", "Nodes", "Found", "Meaning", "Remedy"), findings),
            ReportTable("Members", ("Node", "Role", "Log end", "Records behind", "Caught up"), members),
        ),
    )


def build_cleaner_section(report: dict[str, Any]) -> Section:
    """Build the section with diagnoses before and after, restarts and repairs of log cleaners."""
    before = {each["brokerId"]: each for each in report["before"]}
    diagnoses = tuple(
        (
            number_cell(each["brokerId"]),
            Cell(in_words(before.get(each["brokerId"], each)["diagnosis"])),
            Cell(in_words(each["diagnosis"]), "good" if each["diagnosis"] in HEALTHY_CASES else "bad"),
            Cell(each["reason"]),
        )
        for each in report["after"]
    )
    changes = [
        (Cell(f"restart on broker {each['brokerId']}"), Cell(in_words(each["status"])), Cell(each["reason"]))
        for each in report["restarts"]
    ]
    changes += [
        (
            Cell(f"repair of {each['topic']}-{each['partition']} on broker {each['brokerId']}"),
            Cell(in_words(each["status"])),
            Cell(each["reason"]),
        )
        for each in report["repairs"]
    ]
    changes += [
        (Cell(f"earlier run's {each['change']}"), Cell(in_words(each["undoing"])), Cell(each["reason"]))
        for each in report["leftovers"]
    ]
    return Section(
        "Log cleaners",
        (
            ReportTable("Diagnoses", ("Broker", "Before", "After", "Reason"), diagnoses),
            ReportTable("Changes", ("Change", "Status", "Reason"), tuple(changes)),
        ),
    )


def build_leadership_section(report: dict[str, Any]) -> Section:
    """Build the section with replica orders, leaders before and after, and drift."""
    orders, leaders = report["orders"], report["leaders"] or []
    counts = Counter(each["status"] for each in orders)
    moves = Counter(each["status"] for each in leaders)
    drifted = [each for each in orders if each["drift"] != "none"]
    before = Counter(each["leaderBefore"] for each in leaders)
    after = Counter(each["leaderAfter"] for each in leaders)
    blocks: list[Block] = [
        ReportParagraph(f"Blacklist: {_list(report['before'])} before, {_list(report['after'])} after."),
        ReportTable("Replica orders", ("Status", "Partitions"), _counted(counts)),
        ReportTable("Leaders", ("Status", "Partitions"), _counted(moves)),
        build_leadership_table(before, after),
        first_rows(
            "Drift: orders that another party changed",
            ("Partition", "Drift", "Status", "Reason"),
            drifted,
            lambda each: (
                partition_cell(each["topic"], each["partition"]),
                Cell(each["drift"], "warning"),
                Cell(in_words(each["status"])),
                Cell(each["reason"]),
            ),
        ),
    ]
    return Section("Preferred leaders", tuple(blocks))


def build_survey_section(survey: dict[str, Any]) -> Section:
    """Build the section with the partitions without a leader, and the broker to start first."""
    partitions = first_rows(
        f"{plural(len(survey['partitions']), 'partition')} without a leader",
        ("Partition", "Leader epoch", "Replicas", "ISR", "ELR", "Offline replicas"),
        survey["partitions"],
        lambda each: (
            partition_cell(each["topic"], each["partition"]),
            number_cell(each["leader_epoch"]),
            Cell(format_ids(each["replicas"])),
            Cell(format_ids(each["isr"])),
            Cell(format_ids(each["elr"])),
            Cell(format_ids(each["offline_replicas"]), "bad"),
        ),
    )
    blocks: list[Block] = [partitions]
    if survey["start_order"]:
        blocks.append(ReportParagraph("Which broker to start first:"))
        blocks.append(Steps(tuple(NextStep(each["explanation"]) for each in survey["start_order"])))
    return Section("Partitions without a leader", tuple(blocks))


def build_readiness_verdict(report: Mapping[str, Any]) -> tuple[str, str]:
    """Say whether a recovery would work. Returns the sentence and its tone."""
    counts = Counter(each["status"] for each in report["checks"])
    found = [f"{counts[status]:,} {_CHECK_WORDS[status]}" for status in ("failed", "unknown") if counts[status]] + [
        plural(counts["warning"], "warning") if counts["warning"] else "no warnings"
    ]
    head = "A recovery would work" if report["isReady"] else "A recovery would not work as it should"
    tone = "bad" if not report["isReady"] else "warning" if counts["warning"] else "good"
    return f"{head}: {', '.join(found)} of {len(report['checks']):,} checks.", tone


def build_readiness_section(report: Mapping[str, Any]) -> Section:
    """Build the section with all checks, worst first, and the effects of each broker's death."""
    checks = tuple(
        (
            Cell(_CHECK_WORDS[each["status"]], _CHECK_TONES[each["status"]]),
            Cell(in_words(each["name"])),
            Cell(each["subject"] or "the cluster or this host"),
            Cell(each["found"]),
            Cell(each["remedy"] or "nothing"),
        )
        for each in report["checks"]
    )
    losses = tuple(
        (
            number_cell(each["brokerId"]),
            number_cell(each["offlinePartitions"]),
            number_cell(each["unrecoverablePartitions"]),
            number_cell(each["belowMinIsrPartitions"]),
            Cell(each["offline"] or "none"),
        )
        for each in report["brokerLosses"]
    )
    blocks: list[Block] = [
        ReportTable("Checks, worst first", ("Result", "Check", "About", "Found", "What to do"), checks),
        ReportTable(
            "If one broker died now",
            ("Broker", "Partitions without a leader", "Of these, without any replica", "Below min ISR", "Which"),
            losses,
        ),
        ReportParagraph(
            "Partitions without any replica have none on another live broker. Partitions below min ISR would have a "
            "leader, but take no records with acks=all."
        ),
    ]
    return Section("Readiness for a recovery", tuple(blocks))


def build_evidence_section(evidence: Evidence) -> Section:
    """Build the section with what each replica held when it was asked. Nothing was decided."""
    from .._recovery.rows import rank_table, read_ranked_partitions  # noqa: PLC0415 - needs pyarrow

    ranked = {each.topic_partition: each for each in read_ranked_partitions(rank_table(evidence.replica_logs))}
    outcomes = [_build_undecided(state, ranked.get(state.topic_partition)) for state in evidence.partitions]
    listed = tuple(_evidence_rows(outcomes))
    held = (
        f"What each replica of {plural(len(outcomes), 'partition')} held at {evidence.gathered_at}. Nothing was "
        "decided."
    )
    return Section(
        "Evidence",
        (
            ReportParagraph(held),
            *draw_logs([outcomes], {}),
            ReportTable(
                "Replicas" if len(listed) < MAX_ROWS else f"The first {MAX_ROWS:,} replicas",
                ("Partition", "Broker", "Last written epoch", "Log start", "Log end", "State"),
                listed,
            ),
        ),
    )


def _evidence_rows(outcomes: Sequence[Outcome]) -> Iterator[tuple[Cell, ...]]:
    shown = 0
    for outcome in outcomes:
        for each in outcome.candidates:
            yield (
                partition_cell(outcome.topic, outcome.partition),
                number_cell(each.broker_id),
                number_cell(each.last_written_epoch),
                number_cell(each.log_start_offset),
                number_cell(each.log_end_offset),
                Cell("answered", "good"),
            )
        for silent in outcome.silent:
            unknown = (number_cell(None),) * 3
            state = Cell(f"{in_words(silent.cause.value)}: {silent.error}", "bad")
            yield partition_cell(outcome.topic, outcome.partition), number_cell(silent.broker_id), *unknown, state
        shown += len(outcome.candidates) + len(outcome.silent)
        if shown >= MAX_ROWS:
            return


def _build_undecided(state: PartitionState, replicas: RankedPartition | None) -> Outcome:
    # A partition without replicas has no rows.
    candidates, silent = (replicas.candidates, replicas.silent) if replicas is not None else ((), ())
    return Outcome(
        state.topic,
        state.partition,
        Status.UNKNOWN,
        "nothing was decided",
        replicas=state.replicas,
        candidates=candidates,
        silent=silent,
        losses=describe_losses(forecast_losses(state, candidates, [each.broker_id for each in silent])),
        isr=state.isr,
        elr=state.elr,
        last_known_elr=state.last_known_elr,
    )


def _counted(counts: Counter[str]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((Cell(in_words(status)), number_cell(count)) for status, count in sorted(counts.items()))


def _list(blacklist: dict[str, Any]) -> str:
    parts = [format_ids(blacklist["brokers"])] if blacklist["brokers"] else []
    parts += [f"{format_ids(each['brokers'])} for topics {each['pattern']}" for each in blacklist["byTopic"]]
    return ", ".join(parts) or "empty"
