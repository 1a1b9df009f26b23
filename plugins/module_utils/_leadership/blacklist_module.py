# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run preferred_leader_blacklist: change the list and the orders, write the report, and build the results."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from .._documents.report_file import ReportFile
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.reasons import plural
from .._model.run import RunMode
from .._module.connection import connection_settings, controller_listeners
from .._module.options import progress_to
from .._module.quorum_preflight import require_quorum
from .._module.run import call_all, diff_of, list_rows
from .blacklist import Blacklist, Change, check_request
from .decide import OrderOutcome, OrderStatus
from .deprioritize import LeadershipResult, run_leadership
from .memory_topic import LeadershipOptions, leadership_options
from .orders import Drift
from .report import LEADERSHIP_REPORT, LeadershipReport, encode_leadership_report
from .view import ListRequest


def list_result(blacklist: Blacklist) -> dict[str, Any]:
    """Return the list as a module result."""
    return {
        "brokers": list(blacklist.brokers),
        "by_topic": [{"pattern": pattern, "brokers": list(brokers)} for pattern, brokers in blacklist.by_topic.items()],
    }


def deprioritize(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> LeadershipResult:
    """Change the list and the orders, and write the requested report.

    Raises KafkaOpsError. Invalid options are all refused at once, before any request.
    """
    settings, controllers, report_file, _request = call_all(
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: ReportFile(params["report_file"]),
        lambda: check_request(params["brokers"], params["topics"]),
    )
    request = ListRequest(Change(params["state"]), tuple(params["brokers"]), tuple(params["topics"]))
    options = LeadershipOptions(**leadership_options(params, check_mode=check_mode))
    with Wire(settings, controllers) as wire:
        require_quorum(wire, params, check_mode=check_mode)
        result = run_leadership(Kafka(wire), request, options, progress_to(params["progress_file"]), stop)
    report = LeadershipReport(
        cluster_id=result.cluster_id,
        mode=RunMode.CHECK if check_mode else RunMode.APPLY,
        before=result.before,
        after=result.after,
        is_native=result.is_native,
        remembered_in=result.remembered_in,
        orders=tuple(result.outcomes.values()),
        leaders=None,
    )
    document_at = partial(encode_leadership_report, report)
    return replace(result, report_error=report_file.write_or_explain(document_at, LEADERSHIP_REPORT))


def warnings(result: LeadershipResult) -> list[str]:
    """Return warnings, which are no failures."""
    outcomes = [*result.outcomes.values()]
    warnings = list(result.warnings)
    drifted = [each for each in outcomes if each.drift is not Drift.NONE]
    if drifted:
        warnings.append(list_rows(f"{plural(len(drifted), 'partition', 'were')} changed by another party", drifted))
    for status, verb, rest in (
        (OrderStatus.LEFT_ALONE, "are", "left alone, without the order that the list requires"),
        (OrderStatus.ALL_LISTED, "have", "replicas on listed brokers only, so the list has no effect there"),
    ):
        found = [each for each in outcomes if each.status is status and not _is_unrestored(result, each)]
        if found:
            warnings.append(list_rows(f"{plural(len(found), 'partition', verb)} {rest}", found))
    return warnings


def _is_unrestored(result: LeadershipResult, outcome: OrderOutcome) -> bool:
    """Return whether no replica is on a listed broker any more, and the original order could not be restored."""
    return (
        outcome.status is OrderStatus.LEFT_ALONE
        and outcome.original != outcome.replicas_after
        and result.after.listed_for(outcome.topic).isdisjoint(outcome.original or ())
    )


def failure_message(result: LeadershipResult) -> str | None:
    """Return the failure message; None if nothing failed."""
    failed = [each for each in result.outcomes.values() if each.status is OrderStatus.FAILED]
    unrestored = [each for each in result.outcomes.values() if _is_unrestored(result, each)]
    texts = [
        list_rows(f"{len(failed)} replica orders were not changed as requested", failed) if failed else "",
        list_rows(f"{len(unrestored)} original orders are not restored yet", unrestored) if unrestored else "",
        result.report_error,
    ]
    return "\n".join(filter(None, texts)) or None


def diff_of_list_and_orders(result: LeadershipResult, max_rows: int) -> dict[str, str]:
    """Return the diff of the list and of the changed replica orders."""
    changes = [
        (each.topic_partition, _ids(each.replicas or ()), _ids(each.replicas_after))
        for each in result.outcomes.values()
        if each.replicas_after is not None and each.replicas != each.replicas_after
    ]
    diff = diff_of("preferred_leader_blacklist and replica orders", changes, max_rows)
    return {
        **diff,
        "before": _text(list_result(result.before)) + diff["before"],
        "after": _text(list_result(result.after)) + diff["after"],
    }


def _text(blacklist: Mapping[str, Any]) -> str:
    lines = [f"brokers: {_ids(blacklist['brokers'])}"]
    lines += [f"topics {each['pattern']}: {_ids(each['brokers'])}" for each in blacklist["by_topic"]]
    return "".join(f"{line}\n" for line in lines)


def _ids(broker_ids: Sequence[int]) -> str:
    return ",".join(map(str, broker_ids)) or "none"
