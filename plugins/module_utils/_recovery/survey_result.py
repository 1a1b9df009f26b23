# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make the result of a survey that ends the run. What a healthy cluster does not need is imported when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._changes.record import OrderChange
from .._model.partition import PartitionState
from .._model.run import RunMode, count_by_status, utc_now
from .._module.run import select_most_important, to_json_types
from .plan import DONE_OR_FORESEEN, LeftAlone, Status
from .start_order import describe_advice, find_start_order

if TYPE_CHECKING:
    from .._documents.report_file import ReportFile
    from .._kafka.wire import Wire
    from .outcome import Outcome
    from .survey import Survey


def count_since_brokers_left(wire: Wire, found: Survey) -> Survey:
    """Return the survey, with the unclean elections of all partitions since each broker left. Never raises.

    They are 0 without a request if no broker is away, or no leader left a replica behind.
    """
    if found.leaving_behind == () or not any(each.is_away for each in found.brokers):
        return replace(found, brokers=tuple(replace(each, unclean_elections=0) for each in found.brokers))
    from .._history.unclean_elections import count_unclean_elections  # noqa: PLC0415
    from .._kafka.port import Kafka  # noqa: PLC0415

    counted = count_unclean_elections(Kafka(wire), found.brokers, found.leaving_behind, found.cluster_id)
    return replace(found, brokers=counted)


def outcomes_of(partitions: Sequence[LeftAlone]) -> tuple[list[Outcome], list[Any]]:
    """Return the outcomes of partitions that are left alone, and their groups.

    Without any, nothing is imported for them: that takes longer than the survey of a healthy cluster.
    """
    if not partitions:
        return [], []
    from .groups import group_outcomes  # noqa: PLC0415
    from .outcome import outcome_of_left_alone  # noqa: PLC0415

    outcomes = [outcome_of_left_alone(each) for each in partitions]
    return outcomes, to_json_types([each.group for each in group_outcomes(outcomes)])


def bounded(
    offline: Sequence[PartitionState],
    outcomes: Sequence[Outcome],
    unfinished: Sequence[OrderChange],
    max_rows: int | None,
) -> dict[str, Any]:
    """Return the rows. Of partitions that are left alone, those first that a person must look at."""
    most = max(map(len, (offline, outcomes, unfinished))) if max_rows is None else max_rows
    return {
        "partitions": to_json_types(offline[:most]),
        "left_alone": to_json_types(select_most_important(outcomes, most, DONE_OR_FORESEEN)),
        "unfinished": to_json_types(unfinished[:most]),
        "truncated": any(len(each) > most for each in (offline, outcomes, unfinished)),
    }


def survey_results(found: Survey, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return what is about the whole cluster."""
    advice = find_start_order(found.without_leader, found.brokers)
    return {
        "cluster_id": found.cluster_id,
        "looked_at": utc_now(),
        "brokers": to_json_types(found.brokers),
        "start_order": [{**to_json_types(each), "explanation": describe_advice(each)} for each in advice],
        **found.count_doubtful(),
        "summary": {"offline": len(found.offline), **count_by_status((each.status for each in outcomes), Status)},
    }


def write_report(report: ReportFile, found: Survey, outcomes: Sequence[Outcome]) -> None:
    """Write the report of a run that has nothing to recover. Raises KafkaOpsError."""
    from .outcome import REPORT_FILE, prepare_report  # noqa: PLC0415

    document_at = prepare_report(
        mode=RunMode.CHECK, cluster_id=found.cluster_id, brokers=found.brokers, outcomes=outcomes
    )
    report.write(document_at, REPORT_FILE)
