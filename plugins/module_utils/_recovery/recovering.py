# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan and elect in one process, where nobody reviews the plan in between."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._documents.report_file import ReportFile
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._module.connection import connection_settings, controller_addresses, controller_settings
from .._module.quorum_preflight import QuorumCheck
from .._module.run import call_all, stop_on_signals
from .electing import Tails, carry_out, terms_of, with_report
from .election_results import Elected
from .planning import Planned, plan_of_cluster, plan_options


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
    report_file, settings, options, terms, _checked = call_all(
        lambda: ReportFile(params["report_file"]),
        lambda: connection_settings(params),
        lambda: plan_options(params, waits=not check_mode),
        lambda: terms_of(params, stop, check_mode=check_mode),
        tails.check,
    )
    terms = terms.saving(tails, settings)
    check = QuorumCheck(settings, params, check_mode=check_mode)
    with Wire(settings, controller_settings(params), controller_addresses(params)) as wire:
        kafka = Kafka(wire)
        planned = plan_of_cluster(kafka, options, terms.progress)
        stop_on_signals(stop)
        elected = carry_out(kafka, planned.plan, terms, check.require)
        reported = with_report(elected, report_file, check_mode=check_mode, engine=planned.engine)
        return Recovered(planned, reported)
