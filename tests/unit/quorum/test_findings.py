# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The findings about each kind of quorum: a table of cases."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.finding import Finding, FindingKind, Severity
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.observation import Observation
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.verdict import collect_findings
from unit.quorum.quorums import (
    LEO,
    controller,
    disk,
    down,
    follower,
    healthy,
    observed,
    state,
    unknown,
    view,
)

CRITICAL, WARNING, INFO = Severity.CRITICAL, Severity.WARNING, Severity.INFO

# Adding a voter needs a look before it joined, and one after.
_JOINED_LAGGING = down(104, since_fetch_ms=100)
_OLD = [controller(each, supports_pre_vote=False, auto_join=None) for each in (101, 102, 103)]

CASES: list[tuple[str, Observation, list[tuple[FindingKind, Severity, tuple[int, ...]]]]] = [
    ("healthy", observed(healthy()), []),
    ("healthy over a window", observed(healthy(), healthy(), healthy()), []),
    ("healthy, seen through brokers alone", observed(healthy(), views=[], controllers=[]), []),
    ("healthy, and static", observed(healthy(), kraft_version=0), []),
    ("healthy, and nothing may be read but the quorum", observed(
        healthy(), views=[], controllers=[], broker_ids=None, kraft_version=None, fetch_timeout_ms=None), []),
    ("a broker that lags is no matter of the quorum",
     observed(state(follower(102), follower(103), observers=[down(2)])), []),
    ("no leader", observed(None, views=[view(102, leader=None)], controllers=[controller(102)], silence="-"),
     [(FindingKind.NO_LEADER, CRITICAL, ())]),
    ("no leader, and nobody to ask", observed(None, views=[], controllers=[], silence="-"),
     [(FindingKind.NO_LEADER, CRITICAL, ())]),
    ("it had a leader when the window began", observed(healthy(), None, silence="-"),
     [(FindingKind.NO_LEADER, CRITICAL, ())]),
    ("two leaders", observed(healthy(), views=[view(101, epoch=7), view(103, epoch=7, leads=True)]),
     [(FindingKind.TWO_LEADERS, CRITICAL, (101, 103))]),
    ("one leader at two addresses", observed(healthy(), views=[view(101), view(101)]), []),
    ("one of three down", observed(state(follower(102), down(103))),
     [(FindingKind.VOTER_NOT_FETCHING, WARNING, (103,))]),
    ("one of three never seen by this leader", observed(state(follower(102), unknown(103))),
     [(FindingKind.VOTER_NOT_FETCHING, WARNING, (103,))]),
    ("one of three slow", observed(state(follower(102), down(103, since_fetch_ms=50))),
     [(FindingKind.VOTER_LAGS, WARNING, (103,))]),
    ("just within the fetch timeout", observed(state(follower(102), follower(103, lag_ms=2000, since_fetch_ms=2000))),
     []),
    ("just beyond it", observed(state(follower(102), follower(103, lag_ms=2001, since_fetch_ms=2001))),
     [(FindingKind.VOTER_NOT_FETCHING, WARNING, (103,))]),
    ("beyond the default, within what is configured", observed(
        state(follower(102), follower(103, lag_ms=9000, since_fetch_ms=9000)), fetch_timeout_ms=10_000), []),
    ("two of three down", observed(state(down(102), down(103))), [
        (FindingKind.MAJORITY_NOT_CAUGHT_UP, CRITICAL, (102, 103)),
        (FindingKind.VOTER_NOT_FETCHING, WARNING, (102,)),
        (FindingKind.VOTER_NOT_FETCHING, WARNING, (103,)),
    ]),
    ("a new leader that nobody follows yet", observed(state(unknown(102), unknown(103))), [
        (FindingKind.MAJORITY_NOT_CAUGHT_UP, CRITICAL, (102, 103)),
        (FindingKind.VOTER_NOT_FETCHING, WARNING, (102,)),
        (FindingKind.VOTER_NOT_FETCHING, WARNING, (103,)),
    ]),
    ("an election while we looked",
     observed(healthy(), state(follower(101), follower(103), leader=102, epoch=8), views=[]),
     [(FindingKind.EPOCH_CHURN, WARNING, ())]),
    ("one election after the other", observed(healthy(), state(follower(102), follower(103), epoch=8),
                                              state(follower(102), follower(103), epoch=11), views=[]),
     [(FindingKind.EPOCH_CHURN, CRITICAL, ())]),
    ("a follower that was cut off returns", observed(
        state(follower(102), down(103)), state(follower(102), follower(103), epoch=8), views=[]),
     [(FindingKind.EPOCH_CHURN, WARNING, (103,))]),
    ("a follower that is cut off raises its epoch", observed(
        state(follower(102), down(103)), views=[view(101), view(102), view(103, epoch=31, leader=None)]),
     [(FindingKind.VOTER_NOT_FETCHING, WARNING, (103,)), (FindingKind.EPOCH_AHEAD, WARNING, (103,))]),
    ("a controller that may not report its epoch", observed(healthy(), views=[view(103, epoch=None, leader=None)]), []),
    ("a removed voter goes on", observed(state(follower(102), observers=[follower(103)])), [
        (FindingKind.REMOVED_VOTER_ACTIVE, WARNING, (103,)), (FindingKind.EVEN_VOTERS, INFO, ()),
    ]),
    ("a removed voter goes on, and only the brokers report it", observed(
        state(follower(102), observers=[follower(103)]), views=[], controllers=[]), [
        (FindingKind.REMOVED_VOTER_ACTIVE, WARNING, (103,)), (FindingKind.EVEN_VOTERS, INFO, ()),
    ]),
    ("a removed voter goes on, and stalls at the last look", observed(
        state(follower(102), observers=[follower(103)]), state(follower(102), observers=[down(103)])), [
        (FindingKind.REMOVED_VOTER_ACTIVE, WARNING, (103,)), (FindingKind.EVEN_VOTERS, INFO, ()),
    ]),
    ("before Kafka 4.0 an unlisted observer may be a fenced broker", observed(
        state(follower(102), follower(103), observers=[follower(9)]), broker_ids=None), []),
    ("a removed voter that was stopped is listed for some time", observed(
        state(follower(102), observers=[down(103)]), controllers=[controller(101), controller(102)]),
     [(FindingKind.EVEN_VOTERS, INFO, ())]),
    ("a removed voter adds itself again",
     observed(healthy(), state(follower(102), observers=[follower(103)]), healthy()),
     [(FindingKind.VOTER_JOINED, WARNING, (103,))]),
    ("a voter was added", observed(state(follower(102)), healthy()), [(FindingKind.VOTER_JOINED, INFO, (103,))]),
    ("a voter was added, and lags", observed(healthy(), state(follower(102), follower(103), _JOINED_LAGGING)), [
        (FindingKind.NEW_VOTER_NOT_CAUGHT_UP, WARNING, (104,)),
        (FindingKind.VOTER_JOINED, INFO, (104,)),
        (FindingKind.EVEN_VOTERS, INFO, ()),
    ]),
    ("a voter was added while a majority lags", observed(healthy(), state(follower(102), down(103), _JOINED_LAGGING)), [
        (FindingKind.MAJORITY_NOT_CAUGHT_UP, CRITICAL, (103, 104)),
        (FindingKind.NEW_VOTER_NOT_CAUGHT_UP, CRITICAL, (104,)),
        (FindingKind.VOTER_NOT_FETCHING, WARNING, (103,)),
        (FindingKind.VOTER_JOINED, INFO, (104,)),
        (FindingKind.EVEN_VOTERS, INFO, ()),
    ]),
    ("a voter fetches, and never was caught up",
     observed(state(follower(102), down(103, lag_ms=None, since_fetch_ms=9))),
     [(FindingKind.NEW_VOTER_NOT_CAUGHT_UP, WARNING, (103,))]),
    ("a voter came back with another disk", observed(
        state(follower(102), down(103), observers=[follower(103, directory_id=disk(999))])),
     [(FindingKind.DISK_REPLACED, WARNING, (103,))]),
    ("the same, and one more is down", observed(
        state(down(102), down(103), observers=[follower(103, directory_id=disk(999))])), [
        (FindingKind.MAJORITY_NOT_CAUGHT_UP, CRITICAL, (102, 103)),
        (FindingKind.DISK_REPLACED, CRITICAL, (103,)),
        (FindingKind.VOTER_NOT_FETCHING, WARNING, (102,)),
    ]),
    ("the old disk of a voter is listed for some time", observed(
        state(follower(102), follower(103), observers=[down(103, directory_id=disk(999))])), []),
    ("a static voter came back with another disk", observed(
        healthy(), state(follower(102), follower(103, directory_id=disk(999))), kraft_version=0),
     [(FindingKind.DISK_REPLACED, WARNING, (103,))]),
    ("a voter holds nothing", observed(
        state(follower(102), down(103, log_end_offset=0, since_fetch_ms=5)), kraft_version=0), [
        (FindingKind.VOTER_LAGS, WARNING, (103,)), (FindingKind.DISK_REPLACED, WARNING, (103,)),
    ]),
    ("a voter lost what it held a moment ago", observed(
        state(follower(102), follower(103, log_end_offset=0, lag_records=LEO)), kraft_version=0), [
        (FindingKind.VOTER_LAGS, WARNING, (103,)), (FindingKind.DISK_REPLACED, WARNING, (103,)),
    ]),
    ("a log shrank below the high watermark",
     observed(healthy(), state(follower(102), follower(103, log_end_offset=17))),
     [(FindingKind.DISK_REPLACED, WARNING, (103,))]),
    ("a log shrank that was ahead of the high watermark", observed(
        state(follower(102), follower(103, log_end_offset=LEO + 5)), healthy()), []),
    ("a log of which nothing is known meanwhile", observed(healthy(), state(follower(102), unknown(103)), healthy()),
     []),
    ("a controller that the leader hears, and we do not", observed(
        healthy(), views=[view(101), view(102)],
        controllers=[controller(101), controller(102), controller(103, cause=Cause.HUNG, error="no answer")]),
     [(FindingKind.CONTROLLER_SILENT, WARNING, (103,))]),
    ("a controller that was removed and stopped, and is still registered", observed(
        healthy(), views=[view(101), view(102), view(103)],
        controllers=[controller(101), controller(102), controller(103),
                     controller(104, cause=Cause.UNREACHABLE, error="refused")]),
     [(FindingKind.REMOVED_CONTROLLER_REGISTERED, INFO, (104,))]),
    ("a controller that was given and whose id is not known", observed(
        healthy(), controllers=[controller(None, cause=Cause.UNREACHABLE, error="refused")]),
     [(FindingKind.CONTROLLER_SILENT, WARNING, ())]),
    ("a fetch timeout that an idle follower cannot keep", observed(
        healthy(), controllers=[controller(101, fetch_timeout_ms=500), controller(102, fetch_timeout_ms=500)]),
     [(FindingKind.TIMEOUTS_TOO_LOW, WARNING, (101, 102))]),
    ("timeouts that differ", observed(
        healthy(), controllers=[controller(101), controller(102, fetch_timeout_ms=4000), controller(103)]),
     [(FindingKind.TIMEOUTS_DIFFER, INFO, (101, 102, 103))]),
    ("backoffs that differ, one of them unknown", observed(healthy(), controllers=[
        controller(101, retry_backoff_ms=20), controller(102, retry_backoff_ms=40), controller(103)]),
     [(FindingKind.TIMEOUTS_DIFFER, INFO, (101, 102))]),
    ("an election timeout too low", observed(healthy(), controllers=[controller(103, election_timeout_ms=100)]),
     [(FindingKind.TIMEOUTS_TOO_LOW, WARNING, (103,))]),
    ("one voter", observed(state(), controllers=[controller(101)], views=[view(101)]),
     [(FindingKind.SINGLE_VOTER, WARNING, (101,))]),
    ("four voters", observed(state(follower(102), follower(103), follower(104))),
     [(FindingKind.EVEN_VOTERS, INFO, ())]),
    ("no Pre-Vote in a healthy quorum", observed(healthy(), controllers=_OLD),
     [(FindingKind.PRE_VOTE_MISSING, INFO, (101, 102, 103))]),
    ("no Pre-Vote, and a follower is cut off", observed(state(follower(102), down(103)), controllers=_OLD), [
        (FindingKind.VOTER_NOT_FETCHING, WARNING, (103,)), (FindingKind.PRE_VOTE_MISSING, WARNING, (101, 102, 103)),
    ]),
]  # fmt: skip


def _found(observation: Observation) -> list[tuple[FindingKind, Severity, tuple[int, ...]]]:
    return [(each.kind, each.severity, each.node_ids) for each in collect_findings(observation)]


@pytest.mark.parametrize(("observation", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_findings(observation: Observation, expected: list[tuple[FindingKind, Severity, tuple[int, ...]]]) -> None:
    assert _found(observation) == expected


def test_the_table_has_every_kind() -> None:
    assert {kind for _name, _observation, expected in CASES for kind, _severity, _ids in expected} == set(FindingKind)


@pytest.mark.parametrize("observation", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_every_finding_has_evidence_a_meaning_and_a_remedy(observation: Observation) -> None:
    for each in collect_findings(observation):
        assert each.evidence
        assert each.meaning.endswith(".")
        assert each.remedy.endswith(".")


def _only(observation: Observation) -> Finding:
    (found,) = collect_findings(observation)
    return found


def test_evidence_of_a_voter_that_is_cut_off() -> None:
    views = [view(101), view(102), view(103, epoch=7, leader=None)]
    assert _only(observed(state(follower(102), down(103)), views=views)).evidence == {
        "since_fetch_ms": 60_000,
        "lag_ms": 60_000,
        "lag_records": 120,
        "caught_up_within_ms": 2000,
        "answers_us": True,
        "follows": None,
        "epoch": 7,
    }


def test_evidence_of_epoch_churn() -> None:
    seen = observed(healthy(), None, state(follower(101), down(103), leader=102, epoch=9), views=[], controllers=[])
    churn = next(each for each in collect_findings(seen) if each.kind is FindingKind.EPOCH_CHURN)
    assert churn.evidence == {
        "from_epoch": 7,
        "to_epoch": 9,
        "leaders": [101, 102],
        "looks_without_leader": 1,
        "window_ms": 1000,
    }


def test_the_remedy_for_a_new_disk_depends_on_kraft_version() -> None:
    voters = state(follower(102), down(103), observers=[follower(103, directory_id=disk(999))])
    assert "replace_controller" in _only(observed(voters)).remedy
    assert "replace_controller" not in _only(observed(voters, kraft_version=0)).remedy


def test_auto_join_is_reported() -> None:
    asked = [controller(101), controller(102), controller(103, auto_join=True)]
    removed = collect_findings(observed(state(follower(102), observers=[follower(103)]), controllers=asked))[0]
    assert removed.evidence["auto_join"] is True
    assert "KAFKA-19850" in removed.meaning


def test_a_controller_with_the_node_id_0_is_named_by_it() -> None:
    views = [view(0, epoch=7, leads=True), view(103, epoch=8, leads=True)]
    (two,) = [
        each for each in collect_findings(observed(healthy(), views=views)) if each.kind is FindingKind.TWO_LEADERS
    ]
    assert two.evidence["epochs"] == {0: 7, 103: 8}
