# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The results of designated_election."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Leftover, OrderChange, Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.election_run import ElectionReport
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.module_result import (
    diff_of_elections,
    failure_message,
    warnings,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status

RECOVERED = Outcome(
    "t", 0, Status.RECOVERED, "it holds the most", designated_leader=3, leader_before=-1, leader_after=3,
    replicas=(1, 2, 3), replicas_after=(1, 2, 3),
)  # fmt: skip
PLANNED = replace(RECOVERED, status=Status.WOULD_RECOVER, leader_after=-1)
GONE = Outcome("t", 1, Status.UNRECOVERABLE, "no replica left", leader_before=-1, leader_after=-1, replicas=(1,))
LEFT = OrderChange("t", 2, "id", original=(1, 2), changed=(2, 1))


def test_no_message_if_all_partitions_are_recovered() -> None:
    assert failure_message(ElectionReport((RECOVERED,), ()), check_mode=False) is None


def test_a_planned_election_is_a_failure_only_outside_check_mode() -> None:
    report = ElectionReport((PLANNED,), ())
    assert failure_message(report, check_mode=True) is None
    assert failure_message(report, check_mode=False) is not None


def test_each_partition_that_is_not_done_is_named_with_its_reason() -> None:
    message = failure_message(ElectionReport((RECOVERED, GONE), ()), check_mode=False)
    assert message == "1 of 2 partitions was not recovered:\n  t-1: unrecoverable: no replica left"


def test_a_message_names_a_limited_number_of_partitions() -> None:
    outcomes = tuple(replace(GONE, partition=number) for number in range(3000))
    message = failure_message(ElectionReport(outcomes, ()), check_mode=False)
    assert message is not None
    assert message.splitlines()[-1] == "  and 2990 more"


def test_an_order_that_stays_changed_fails_the_run() -> None:
    report = ElectionReport((), (Leftover(LEFT, Undoing.FAILED, "no broker answered"),))
    assert "no broker answered" in (failure_message(report, check_mode=False) or "")


def test_a_conflict_is_a_warning() -> None:
    assert (
        len(warnings([Leftover(LEFT, Undoing.CONFLICT, "somebody else's"), Leftover(LEFT, Undoing.RESTORED, "")])) == 1
    )


def test_the_diff_is_the_same_in_check_mode_and_after() -> None:
    would, did = (diff_of_elections(ElectionReport((each,), ()), 10) for each in (PLANNED, RECOVERED))
    assert would == did
    assert did["before"] == "t-0: no leader, replicas 1,2,3\n"
    assert did["after"] == "t-0: leader 3, replicas 1,2,3\n"


def test_the_diff_omits_unchanged_partitions() -> None:
    assert diff_of_elections(ElectionReport((GONE,), ()), 10)["before"] == ""


def test_the_diff_is_capped() -> None:
    outcomes = tuple(replace(RECOVERED, partition=number) for number in range(5))
    assert diff_of_elections(ElectionReport(outcomes, ()), 2)["after"].endswith("... and 3 more\n")


def test_the_diff_shows_a_restored_order() -> None:
    report = ElectionReport((), (Leftover(LEFT, Undoing.WOULD_RESTORE, ""),))
    assert diff_of_elections(report, 10)["before"] == "t-2: replicas 2,1\n"
    assert diff_of_elections(report, 10)["after"] == "t-2: replicas 1,2\n"
