# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do while no controller leads. Real controllers are in tests/integration/quorum_recovery/test_named.py."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.observation import Observation
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.without_leader import next_step
from unit.quorum.quorums import controller, observed, view

_RECOVER = "kafkaops.recovery.recover_quorum"


def _without_leader(
    answering: set[int], silent: set[int | None], *, voters: int | None = None, is_count_known: bool = True
) -> Observation:
    return observed(
        None,
        voter_count=(voters or len(answering) + len(silent)) if is_count_known else None,
        views=[view(each, leader=None, leads=False) for each in answering],
        controllers=[
            *(controller(each) for each in answering),
            *(controller(each, cause=Cause.UNREACHABLE) for each in silent),
        ],
    )


@pytest.mark.parametrize(
    ("answering", "silent", "expected"),
    [
        ({101}, {102, 103}, "Start controllers 102 and 103 with the old disks, until 2 of 3 run: then nothing is"),
        ({101, 102}, {103, 104, 105}, "Start controllers 103, 104 and 105 with the old disks, until 3 of 5 run"),
        (set(), {101, 102, 103}, "Controllers 101, 102 and 103 answer nothing to this host. Look on their hosts"),
        ({101}, {None}, "Start controller cNone:9093 with the old disks, until 2 of 2 run"),
    ],
)
def test_without_a_majority_controllers_are_started_and_the_last_resort_is_named(
    answering: set[int], silent: set[int | None], expected: str
) -> None:
    step = next_step(_without_leader(answering, silent))
    assert step.startswith(expected)
    assert f"Only if so many of these disks are lost for good that no {(len(answering) + len(silent)) // 2 + 1}" in step
    assert _RECOVER in step


def test_the_silent_controllers_are_in_the_command() -> None:
    assert "-e quorum_recovery_lost_voters=102,103 " in next_step(_without_leader({101}, {102, 103}))


@pytest.mark.parametrize("lost", ["none answers", "an id is unknown"])
def test_unknown_losses_are_left_to_the_operator(lost: str) -> None:
    seen = _without_leader(set(), {101, 102, 103}) if lost == "none answers" else _without_leader({101}, {None})
    assert "-e quorum_recovery_lost_voters=<their ids> " in next_step(seen)


@pytest.mark.parametrize(("answering", "silent"), [({101, 102}, {103}), ({101, 102, 103}, set())])
def test_a_majority_that_answers_waits_and_recovers_nothing(answering: set[int], silent: set[int | None]) -> None:
    step = next_step(_without_leader(answering, silent))
    assert "wait a minute for an election" in step
    assert "Nothing is lost, as long as they have their old disks: one with a new disk answers, too" in step
    assert _RECOVER not in step


def test_a_controller_with_two_addresses_counts_once() -> None:
    seen = observed(
        None,
        views=[view(101, leader=None, leads=False)],
        voter_count=2,
        controllers=[controller(101), controller(101, cause=Cause.HUNG), controller(102, cause=Cause.HUNG)],
    )
    assert next_step(seen).startswith("Start controller 102 ")


def test_if_no_controller_was_asked_their_addresses_are_wanted() -> None:
    step = next_step(_without_leader(set(), set()))
    assert "name the controllers in bootstrap_controllers" in step
    assert _RECOVER not in step


@pytest.mark.parametrize(("answering", "silent"), [({101}, set()), ({101, 102, 103}, set()), ({101}, {102})])
def test_the_addresses_that_were_given_are_not_taken_for_all_voters(
    answering: set[int], silent: set[int | None]
) -> None:
    """No controller lists the others, and nobody else says how many there are."""
    step = next_step(_without_leader(answering, silent, is_count_known=False))
    assert "answered, and no controller says how many voters there are: look on the hosts of all controllers" in step
    assert "Nothing is lost" not in step
    assert _RECOVER not in step


def test_if_none_answers_and_their_number_is_unknown_the_condition_is_a_majority() -> None:
    step = next_step(_without_leader(set(), {101}, is_count_known=False))
    assert "a majority of the voters is enough" in step
    assert "Only if so many of these disks are lost for good that no majority can run again" in step


def test_voters_that_nobody_could_ask_count() -> None:
    step = next_step(_without_leader({101}, set(), voters=3))
    assert step.startswith("Start the other controllers with the old disks, until 2 of 3 run")
    assert "-e quorum_recovery_lost_voters=<their ids> " in step
    assert "2 are a majority" in next_step(_without_leader({101, 102}, set(), voters=3))
