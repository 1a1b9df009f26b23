# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Recover offline partitions in one process: plan and elect, where nobody reviews the plan in between.

The steps of a recovery. A recovery by a reviewed plan runs 1 to 7 and 8 to 16 as two modules.

1. Check all parameters, before any connection is opened.
2. Find partitions without a leader, and all brokers (``survey``). If one is found, Spark starts in the background. If
   none is found, the plan is empty: go on with step 8, which also restores what an earlier run left.
3. Read each topic's policy: what its elections may lose (``policies``).
4. Wait for brokers whose replicas may decide an election (``waiting``). Not in check mode.
5. Ask the replicas what they hold (``gather``), and keep the answers as evidence.
6. Rank the candidates, forecast what each election loses, and decide (``pipeline``): this is the plan.
7. Add to the plan which brokers its new orders drop, and which open transactions its elections cut.
8. Refuse what the controllers' configs forbid, and a quorum that could not commit a write (``carry_out.carry_out``).
9. End the partitions that have a leader meanwhile, without the lock (``election_run.run_elections``).
10. Take the lock, and undo what earlier runs left. The orders of partitions that this run elects stay.
11. For each batch of one election type: read partitions, reassignments and logs again, and judge each election again.
    Those that would delete unsaved records of live replicas wait for step 14.
12. Record the original orders in the journal, and put each designated leader first.
13. Elect one partition of each leader first, then the others. Wait for leaders, and as long as a lost election may
    still be executed. Verify the leaders, restore the orders, and end them in the journal (``election_batch``).
14. Save the records of step 11, and elect these partitions as in steps 11 to 13.
15. Settle what is in doubt: undo what late requests change (``doubt``). Leave the lock.
16. Look for what the elections caused (``aftermath``), and write the report.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._documents.report_file import ReportFile
from .._kafka.errors import CallError
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._module.connection import connection_settings, controller_listeners
from .._module.quorum_preflight import QuorumCheck
from .._module.run import call_all, stop_on_signals
from .carry_out import Tails, carry_out, terms_of, with_report
from .make_plan import Planned, plan_of_cluster, plan_options
from .module_result import Elected


@dataclass(frozen=True, slots=True)
class Recovered:
    """A plan that was made, and how its elections ended."""

    planned: Planned
    elected: Elected


def recover(params: Mapping[str, Any], *, check_mode: bool, tails: Tails) -> Recovered:
    """Plan for what the parameters select, carry the plan out, and write the report that was asked for.

    The quorum is observed from the beginning, beside the survey and the gather. In check mode no broker is waited for.
    A signal ends the process at once while nothing is written, and during the elections once orders are restored.

    Raises KafkaOpsError; what can be refused without looking at the cluster is refused before that, all at once.
    """
    stop = threading.Event()
    report_file, settings, controllers, options, terms, _checked = call_all(
        lambda: ReportFile(params["report_file"]),
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: plan_options(params, waits=not check_mode, carries_out=True),
        lambda: terms_of(params, stop, check_mode=check_mode),
        tails.check,
    )
    terms = terms.saving(tails, settings)
    check = QuorumCheck(settings, controllers, params, check_mode=check_mode)
    with Wire(settings, controllers) as wire:
        kafka = Kafka(wire)
        try:
            planned = plan_of_cluster(kafka, options, terms.progress)
        except CallError:
            # Brokers forward some requests of a plan to the leader of the controllers. Without one, say that instead.
            check.require()
            raise
        stop_on_signals(stop)
        elected = carry_out(kafka, planned.plan, terms, check.require)
        reported = with_report(elected, report_file, check_mode=check_mode, engine=planned.engine)
        return Recovered(planned, reported)
