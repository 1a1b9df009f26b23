# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which actions are allowed in each kind of quorum: a table of cases. An unknown state allows nothing."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import SeenLeader, Voter
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.assessment import assess
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.observation import Observation
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.verdict import (
    Verdict,
    is_settled,
    may_add,
    may_elect,
    may_remove,
    may_stop,
)
from unit.quorum.quorums import controller, disk, down, follower, healthy, observed, state, unknown, view

NEW = Voter(104, disk(104))
NO_LEADER = observed(None, views=[], controllers=[], silence="nobody answered")
STALE = observed(healthy(), None, silence="it stopped answering")
# An election within the window, and then all is well but for it.
CHURN = (state(follower(102), follower(103), epoch=6), healthy())
TWO_LEADERS = [view(101), view(102, leads=True)]
CANDIDATE = state(follower(102), follower(103), observers=[follower(104)])


def _reasons(verdict: Verdict) -> str:
    assert verdict.allowed is (not verdict.reasons)
    return "\n".join(verdict.reasons)


@pytest.mark.parametrize(
    ("observation", "reason"),
    [
        (observed(healthy()), ""),
        (observed(state(follower(102), down(103))), ""),
        (observed(state(down(102), down(103))), "1 of 3 voters are caught up (101), and 2 are needed"),
        (observed(state(unknown(102), unknown(103))), "not caught up, or unknown: 102, 103"),
        (observed(state()), ""),
        (NO_LEADER, "no quorum: there is no leader that could be asked (nobody answered)"),
        (STALE, "no quorum"),
        (observed(healthy(), views=[view(101), view(102, leads=True)]), "101, 102 both claim to lead"),
        (observed(healthy(), state(follower(102), follower(103), epoch=8)), "epoch rose from 7 to 8"),
    ],
)
def test_elections(observation: Observation, reason: str) -> None:
    reasons = _reasons(may_elect(observation))
    assert reason in reasons
    assert bool(reason) == bool(reasons)


_STOOD_STILL = [healthy()] * 3


@pytest.mark.parametrize(
    "observation",
    [
        observed(*_STOOD_STILL),
        observed(healthy(), earlier=SeenLeader(101, 7, 0), at_ms=1000),
        observed(*[state()] * 3),
        observed(*_STOOD_STILL, views=[], controllers=[]),
    ],
    ids=["healthy", "since an earlier task", "one voter", "through brokers"],
)
def test_a_sound_quorum_is_settled_after_two_fetches(observation: Observation) -> None:
    assert is_settled(observation)


@pytest.mark.parametrize(
    "observation",
    [
        observed(healthy(), healthy()),
        observed(healthy(), earlier=SeenLeader(101, 7, 0), at_ms=999),
        observed(healthy(), earlier=SeenLeader(101, 6, 0), at_ms=1000),
        observed(*[state(follower(102, since_fetch_ms=1001), follower(103))] * 3),
        observed(*[state(follower(102), follower(103, lag_ms=1001))] * 3),
        observed(*[state(follower(102), unknown(103))] * 3),
        observed(*_STOOD_STILL, metadata_version=21),
        observed(*_STOOD_STILL, metadata_version=None),
        observed(*_STOOD_STILL, None),
        observed(*[state(follower(102), follower(103), epoch=each) for each in (7, 7, 8)]),
        observed(*_STOOD_STILL, views=[view(101), view(102, epoch=8), view(103)]),
        observed(*_STOOD_STILL, views=[view(101), view(102, leads=True), view(103)]),
        observed(*_STOOD_STILL, controllers=[controller(101), controller(102), controller(103, cause=Cause.HUNG)]),
        observed(*[state(follower(102), follower(103), observers=[follower(103, directory_id=disk(9))])] * 3),
    ],
    ids=[
        "one fetch",
        "one fetch since an earlier task",
        "an election since an earlier task",
        "a voter does not fetch",
        "a voter lags",
        "a voter is unknown",
        "3.9",
        "an unknown version",
        "no leader",
        "an election",
        "a higher epoch",
        "two leaders",
        "a silent controller",
        "another disk",
    ],
)
def test_any_doubt_needs_the_whole_window(observation: Observation) -> None:
    assert not is_settled(observation)


@pytest.mark.parametrize(
    ("observation", "node_id", "reason"),
    [
        (observed(healthy()), 101, ""),
        (observed(healthy()), 103, ""),
        (observed(healthy()), 104, ""),
        (observed(state(follower(102), down(103))), 103, ""),
        (observed(state(follower(102), down(103))), 102, "without controller 102, 1 of 3 voters are caught up (101)"),
        (observed(state(follower(102), unknown(103))), 101, "not caught up, or unknown: 103"),
        (observed(state(down(102), down(103))), 103, "1 of 3 voters are caught up"),
        # It was caught up a moment ago, and fetches from a new disk since: that voter is gone.
        (
            observed(state(follower(102), follower(103), observers=[follower(103, directory_id=disk(999))])),
            102,
            "not caught up, or unknown: 103",
        ),
        (
            observed(state(follower(102), follower(103, log_end_offset=0, lag_records=5000)), kraft_version=0),
            102,
            "not caught up, or unknown: 103",
        ),
        (observed(state(follower(102))), 102, "without controller 102"),
        (observed(state()), 101, "without controller 101, 0 of 1 voter is caught up (none)"),
        (observed(state(follower(102), follower(103), follower(104))), 102, ""),
        (observed(state(follower(102), follower(103), down(104))), 102, "2 of 4 voters are caught up"),
        (NO_LEADER, 101, "no quorum"),
        (observed(*CHURN), 103, "epoch rose from 6 to 7 within 500 ms: leadership is contested"),
        (observed(*CHURN), 104, ""),
        (observed(healthy(), views=TWO_LEADERS), 103, "101, 102 both claim to lead"),
    ],
)
def test_restart(observation: Observation, node_id: int, reason: str) -> None:
    reasons = _reasons(may_stop(observation, [node_id]))
    assert reason in reasons
    assert bool(reason) == bool(reasons)


@pytest.mark.parametrize(
    ("observation", "voter", "expected"),
    [
        (observed(CANDIDATE), NEW, []),
        (observed(CANDIDATE, kraft_version=0), NEW, ["static"]),
        (observed(CANDIDATE, kraft_version=None), NEW, ["kraft.version is unknown"]),
        (observed(CANDIDATE), Voter(102, disk(102)), ["102 is a voter already", "no observer 102"]),
        (observed(CANDIDATE), Voter(105, disk(105)), ["no observer 105 with directory id"]),
        (observed(CANDIDATE), Voter(105, None), ["no observer 105 that fetches"]),
        (observed(CANDIDATE), Voter(104, disk(999)), [f"but with {disk(104)}"]),
        (
            observed(state(follower(102), follower(103), observers=[down(104)])),
            NEW,
            ["120 records and 60000 ms behind, last fetch 60000 ms ago"],
        ),
        (
            observed(state(follower(102), follower(103), observers=[unknown(104)])),
            NEW,
            ["an unknown number of records"],
        ),
        # Three of four voters are needed: the new one makes up for the one that is down.
        (observed(state(follower(102), down(103), observers=[follower(104)])), NEW, []),
        (
            observed(state(follower(102), down(103), observers=[down(104)])),
            NEW,
            ["is not caught up", "with voter 104 added, 2 of 4 voters would be caught up (101, 102), and 3 are needed"],
        ),
        (
            observed(state(down(102), down(103), observers=[down(104)]), kraft_version=0),
            NEW,
            ["static", "no quorum"],
        ),
        (observed(CANDIDATE), Voter(1, disk(1)), ["1 is a registered broker, and did not answer as a controller"]),
        (observed(CANDIDATE, broker_ids=None), Voter(1, disk(1)), ["1 is a registered broker"]),
        (
            observed(CANDIDATE, controllers=[controller(1, cause=Cause.HUNG)]),
            Voter(1, disk(1)),
            ["1 is a registered broker"],
        ),
        (observed(CANDIDATE, controllers=[controller(1)]), Voter(1, disk(1)), []),
        (NO_LEADER, NEW, ["no quorum"]),
        (observed(CHURN[0], CANDIDATE), NEW, ["leadership is contested"]),
        (observed(CANDIDATE, views=TWO_LEADERS), NEW, ["101, 102 both claim to lead"]),
    ],
)
def test_adding(observation: Observation, voter: Voter, expected: list[str]) -> None:
    reasons = may_add(observation, voter).reasons
    assert [part for part, reason in zip(expected, reasons, strict=True) if part in reason] == expected, reasons


@pytest.mark.parametrize(
    ("observation", "node_id", "expected"),
    [
        (observed(healthy()), 103, []),
        (observed(healthy()), 101, []),
        (observed(state(follower(102), down(103))), 103, []),
        (
            observed(state(follower(102), down(103))),
            102,
            ["with voter 102 removed, 1 of 2 voters would be caught up (101)"],
        ),
        (observed(state()), 101, ["the only voter"]),
        (observed(healthy(), kraft_version=0), 103, ["static"]),
        (
            observed(state(down(102), down(103)), kraft_version=0),
            103,
            ["static", "no quorum", "with voter 103 removed"],
        ),
        (observed(healthy(), controllers=[controller(103, auto_join=True)]), 103, ["KAFKA-19850"]),
        (observed(healthy(), controllers=[controller(103, auto_join=True, cause=Cause.UNREACHABLE)]), 103, []),
        (NO_LEADER, 103, ["no quorum"]),
        (observed(*CHURN), 103, ["leadership is contested"]),
        (observed(healthy(), views=TWO_LEADERS), 103, ["101, 102 both claim to lead"]),
    ],
)
def test_removing(observation: Observation, node_id: int, expected: list[str]) -> None:
    reasons = may_remove(observation, Voter(node_id, disk(node_id))).reasons
    assert [part for part, reason in zip(expected, reasons, strict=True) if part in reason] == expected, reasons


def test_all_verdicts_of_a_quorum() -> None:
    verdicts = assess(observed(state(follower(102), down(103), observers=[follower(104)]))).verdicts
    assert verdicts.elections.allowed
    assert [(each.node_id, each.allowed) for each in verdicts.restart] == [(101, False), (102, False), (103, True)]
    assert [(each.node_id, each.allowed) for each in verdicts.removal] == [(101, False), (102, False), (103, True)]
    assert [(each.node_id, each.allowed) for each in verdicts.addition] == [(104, True)]
