# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run preferred_election: move leaders, add them to the report, and build the results."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .._documents.errors import DocumentError
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.partition import PARTITIONS_PER_REQUEST, Racks
from .._model.reasons import plural
from .._model.run import utc_now
from .._module.connection import connection_settings, controller_listeners
from .._module.options import progress_to
from .._module.quorum_preflight import require_quorum
from .._module.run import call_all, diff_of, list_rows
from .blacklist import BlacklistError, check_request
from .election import MoveReport, move_leaders
from .memory_topic import leadership_options
from .move_finder import MoveOptions
from .moves import MOVING, WRONG, Move, MoveStatus
from .report import add_leaders, read_leadership_report


def elect_preferred(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> MoveReport:
    """Move the leaders that the parameters name, and add their outcomes to the report.

    Raises KafkaOpsError. Invalid options are all refused at once, before any request.
    """
    report_file = params["report_file"]
    settings, controllers, *_checked = call_all(
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: read_leadership_report(report_file) if report_file else None,
        lambda: check_request([*params["from_brokers"], *params["to_brokers"]], params["topics"]),
        lambda: _check_max_moves(params["max_moves"]),
    )
    options = MoveOptions(
        from_brokers=frozenset(params["from_brokers"]),
        to_brokers=frozenset(params["to_brokers"]),
        patterns=tuple(params["topics"]),
        max_moves=params["max_moves"],
        fencing_wait_ms=params["fencing_wait_ms"],
        **leadership_options(params, check_mode=check_mode),
    )
    with Wire(settings, controllers) as wire:
        require_quorum(wire, params, check_mode=check_mode)
        report = move_leaders(Kafka(wire), options, progress_to(params["progress_file"]), stop)
    if report_file:
        try:
            add_leaders(report_file, report.cluster_id, report.moves.values(), utc_now())
        except DocumentError as error:
            return replace(report, report_error=f"the leaders are not in the report: {error}")
    return report


def count_targets(moves: Iterable[Move], racks: Racks) -> list[dict[str, Any]]:
    """Return the number of leaderships that move or would move to each broker, the largest first, with its rack."""
    where = {each.broker_id: each.rack for each in racks}
    counts = Counter(each.target for each in moves if each.status in MOVING)
    most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [
        {"broker_id": broker_id, "rack": where.get(broker_id), "partitions": count} for broker_id, count in most_first
    ]


def failure_message(report: MoveReport) -> str | None:
    """Return the failure message; None if nothing failed."""
    wrong = [each for each in report.moves.values() if each.status in WRONG]
    doubted = [each for each in wrong if each.status is MoveStatus.LED_BY_SILENT]
    not_moved = [each for each in wrong if each.status is not MoveStatus.LED_BY_SILENT]
    texts = [
        list_rows(f"{plural(len(rows), 'partition', verb)} {rest}", rows)
        for rows, verb, rest in (
            (not_moved, "do", "not have the leader that should lead"),
            (doubted, "are", "led by brokers that do not answer, so it is not known who will lead"),
        )
        if rows
    ]
    return "\n".join(filter(None, [*texts, report.report_error])) or None


def warnings(report: MoveReport) -> list[str]:
    """Return warnings about the journal, and about partitions whose leader stays because no other broker can lead."""
    stuck = [each for each in report.moves.values() if each.status not in MOVING | WRONG]
    leaders = "its leader" if len(stuck) == 1 else "their leaders"
    kept = list_rows(f"{plural(len(stuck), 'partition', 'keep')} {leaders}", stuck)
    return [*report.notes, *([kept] if stuck else [])]


def diff_of_leaders(report: MoveReport, max_rows: int) -> dict[str, str]:
    """Return the diff of the leaders that differ."""
    leaders = [(each.topic_partition, each.leader_before, _leader_after(each)) for each in report.moves.values()]
    return diff_of("leaders", [each for each in leaders if each[1] != each[2]], max_rows)


def _leader_after(move: Move) -> int | None:
    return move.target if move.status is MoveStatus.WOULD_MOVE else move.leader_after


def _check_max_moves(max_moves: int) -> None:
    if not 1 <= max_moves <= PARTITIONS_PER_REQUEST:
        raise BlacklistError(f"max_moves is {max_moves}: give a number from 1 to {PARTITIONS_PER_REQUEST}")
