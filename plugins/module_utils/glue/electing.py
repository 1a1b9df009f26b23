# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From a module's parameters to elections that were carried out, and their report."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.connection import connection_settings
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.designations import (
    Designations,
    given_designations,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.election_results import failure_message
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.journal import journal_directory
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.progress import progress_to
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.quorum_preflight import require_quorum
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.refusals import all_of
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.report import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.file_journal import read_unfinished
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import describe_cluster, look_at_brokers
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.aftermath import look_at_aftermath
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.designated_election import (
    ElectionOptions,
    ElectionReport,
    plan_of_designations,
    run_elections,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.policies import refuse_a_race
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.aftermath import Finding
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Mode
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Plan


@dataclass(frozen=True, slots=True)
class Elected:
    """How a run ended, and the brokers as they were when it began."""

    cluster_id: str
    brokers: tuple[Broker, ...]
    report: ElectionReport
    aftermath: tuple[Finding, ...]
    report_fault: str = ""
    """Why there is no report file, although one was asked for."""

    def failure_message(self, *, check_mode: bool) -> str | None:
        """What was not done and why, for a person; None when everything was, or, in check mode, would be."""
        undone = failure_message(self.report, check_mode=check_mode)
        return "\n".join(filter(None, [undone, self.report_fault])) or None


def elect(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> Elected:
    """Carries out what the parameters name, and writes the report that was asked for, or tells why it could not.

    Raises KafkaOpsError; what can be refused without looking at the cluster is refused before that, all at once.
    """
    report_file, settings, given, options = all_of(
        lambda: ReportFile(params["report_file"], Mode.CHECK if check_mode else Mode.APPLY),
        lambda: connection_settings(params),
        lambda: given_designations(params),
        lambda: ElectionOptions(
            journal_dir=journal_directory(params),
            attempts=params["recovery_election_attempts"],
            verify_timeout_ms=params["verify_timeout_ms"],
            check_mode=check_mode,
        ),
    )
    progress = progress_to(params["progress_file"])
    with Wire(settings) as wire:
        progress.step("looking at the brokers")
        cluster = describe_cluster(wire)
        plan = given if isinstance(given, Plan) else _plan_of(wire, given, params)
        mentioned = frozenset(broker_id for each in plan.elections for broker_id in each.replicas)
        brokers = look_at_brokers(wire, cluster, mentioned)
        # Orders that an earlier run left are put back even where nothing is planned: that is a write as well.
        if plan.elections or read_unfinished(options.journal_dir, cluster.cluster_id):
            require_quorum(wire, params)
        if not params["acknowledge_unclean_leader_election"]:
            refuse_a_race(wire, [each.topic_partition for each in plan.elections], brokers)
        report = run_elections(wire, plan, options, progress, stop, brokers)
        aftermath = look_at_aftermath(wire, report.outcomes) if params["report_aftermath"] else ()
    try:
        report_file.write(cluster.cluster_id, brokers, report.outcomes, aftermath)
    except DocumentError as fault:
        # The leaders are elected: what became of each partition must be told all the same.
        return Elected(cluster.cluster_id, brokers, report, aftermath, f"the report is not written: {fault}")
    return Elected(cluster.cluster_id, brokers, report, aftermath)


def _plan_of(wire: Wire, given: Designations, params: Mapping[str, Any]) -> Plan:
    return plan_of_designations(wire, given, include_internal=params["include_internal_topics"])
