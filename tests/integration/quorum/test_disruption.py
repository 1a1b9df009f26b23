# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controllers that are frozen, killed, cut off, wiped and starved. Each test leaves the quorum healthy."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import NO_CONTROLLERS
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import Voter
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import judge_elections
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.assessment import Assessment
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.finding import FindingKind, Severity
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.voters import (
    Membership,
    QuorumPort,
    VoterRefusedError,
    plan_voter_change,
)
from integration.quorum.watched import CHECK, LIMIT_MS, ONLY_STATIC, Quorum, found, kinds
from lab import wait_until
from lab.playbook import read_report, run_playbook
from lab.quorum import Starve
from lab.versions import has_pre_vote

Fault = Callable[[Quorum, int], AbstractContextManager[None]]

_ELECTION_TIMEOUT = "controller.quorum.election.timeout.ms"
_SLACK_S = 2.9
"""Extra time for a busy machine. A time limit more would cost 3 s."""
_WINDOW_MS = LIMIT_MS // 2
_SILENT = {Cause.HUNG}
_GONE = {Cause.UNREACHABLE, Cause.DISCONNECTED}
"""The proxy before a killed controller accepts connections, and closes them."""


def _may_restart(seen: Assessment) -> dict[int, bool]:
    return {each.node_id: each.allowed for each in seen.verdicts.restart}


def test_a_healthy_quorum_has_no_finding(quorum: Quorum, kafka_version: str) -> None:
    seen = quorum.look(window_ms=1500)
    assert [(each.kind, each.severity) for each in seen.findings] == (
        [] if has_pre_vote(kafka_version) else [(FindingKind.PRE_VOTE_MISSING, Severity.INFO)]
    )
    assert seen.kraft_version == int(quorum.cluster.is_dynamic)
    assert seen.metadata_version is not None
    assert (seen.fetch_timeout_ms, seen.election_timeout_ms) == (2000, 1000)
    assert [each.node_id for each in seen.controllers] == [101, 102, 103]
    assert {each.supports_pre_vote for each in seen.controllers} == {has_pre_vote(kafka_version)}
    assert [each.replica_id for each in seen.voters] == [101, 102, 103]
    assert [each.replica_id for each in seen.observers] == [1]
    assert seen.verdicts.elections.allowed
    assert _may_restart(seen) == {101: True, 102: True, 103: True}


@ONLY_STATIC
def test_a_quorum_with_a_frozen_voter_is_not_settled_although_elections_are_allowed(
    quorum: Quorum, kafka_version: str
) -> None:
    def is_settled_when_sound() -> bool:
        return quorum.is_settled() is has_pre_vote(kafka_version)

    wait_until(is_settled_when_sound, 30, what="only with Pre-Vote, the quorum is settled")
    frozen = quorum.followers()[0]
    with quorum.frozen(frozen):
        quorum.wait_for(FindingKind.VOTER_NOT_FETCHING, frozen)
        assert not quorum.is_settled()
        assert quorum.look().verdicts.elections.allowed
    wait_until(is_settled_when_sound, 30, what="only with Pre-Vote, the quorum is settled again")


@ONLY_STATIC
def test_the_playbook_finds_nothing_and_writes_nothing(quorum: Quorum, kafka_version: str, tmp_path: Path) -> None:
    report = tmp_path / "quorum.json"
    before = quorum.look()
    quorum.cluster.proxy.clear()
    only_brokers = {**quorum.variables(), "kafka_bootstrap_controllers": ""}
    run = run_playbook(CHECK, {**only_brokers, "quorum_preflight_report_file": str(report)})
    assert run.returncode == 0, run.output
    assert run.counts["changed"] == 0
    assert {each.broker for each in quorum.asked()} >= {*quorum.cluster.brokers}
    assert [each.name for each in quorum.asked() if each.is_write] == []
    assert f" {before.leader_id} leader " in run.words
    assert "Elections may be requested" in run.words
    assert ("nothing is wrong with the quorum" in run.words) is has_pre_vote(kafka_version)
    reported = read_report(report)
    assert [each["replicaId"] for each in reported["voters"]] == [101, 102, 103]
    assert [each["nodeId"] for each in reported["controllers"]] == [101, 102, 103], "the broker says where they are"
    assert reported["verdicts"]["elections"] == {"allowed": True, "reasons": []}
    assert quorum.look().leader_epoch == before.leader_epoch


@pytest.mark.wide
@ONLY_STATIC
def test_the_quorum_looks_the_same_through_the_broker(quorum: Quorum) -> None:
    seen = quorum.look(controllers=False)
    assert seen.findings == ()
    assert seen.controllers == ()
    assert seen.verdicts.elections.allowed


@pytest.mark.wide
@pytest.mark.parametrize(("fault", "causes"), [(Quorum.frozen, _SILENT), (Quorum.killed, _GONE)])
def test_a_follower_that_is_frozen_or_killed(quorum: Quorum, fault: Fault, causes: set[Cause]) -> None:
    lost, other = quorum.followers()
    leader = quorum.leader()
    with fault(quorum, lost):
        seen, finding = quorum.wait_for(FindingKind.VOTER_NOT_FETCHING, lost)
        assert finding.evidence["since_fetch_ms"] > 2000
        assert finding.evidence["answers_us"] is False
        silent = found(seen, FindingKind.CONTROLLER_SILENT, lost)
        assert silent is not None
        assert silent.evidence["cause"] in causes
        assert seen.verdicts.elections.allowed
        assert _may_restart(seen) == {lost: True, leader: False, other: False}
        # The window is shorter than the time limit that the first look waits for the silent controller.
        assert quorum.look(window_ms=_WINDOW_MS).window_ms >= _WINDOW_MS


@pytest.mark.parametrize(("fault", "causes"), [(Quorum.frozen, _SILENT), (Quorum.killed, _GONE)])
def test_a_leader_that_is_frozen_or_killed(quorum: Quorum, fault: Fault, causes: set[Cause]) -> None:
    lost = quorum.leader()
    with fault(quorum, lost):
        began = time.monotonic()
        first = quorum.look()
        # The leader has two addresses, its own and its proxy's. Each costs one time limit; the broker's wait adds none.
        assert time.monotonic() - began < 2 * LIMIT_MS / 1000 + _SLACK_S
        assert found(first, FindingKind.CONTROLLER_SILENT, lost)
        seen = quorum.look_until(
            lambda seen: seen.leader_id not in (None, lost) and seen.verdicts.elections.allowed, "new leader"
        )
        assert found(seen, FindingKind.VOTER_NOT_FETCHING, lost)
        assert {each.node_id: each.cause for each in seen.controllers}[lost] in causes
        assert _may_restart(seen)[lost]
        assert sum(_may_restart(seen).values()) == 1


def test_a_follower_that_is_cut_off_and_returns(quorum: Quorum, kafka_version: str) -> None:
    lost = quorum.followers()[0]
    before = quorum.look()
    with quorum.cluster.cut_off(lost):
        if has_pre_vote(kafka_version):
            quorum.wait_for(FindingKind.VOTER_NOT_FETCHING, lost)
            quorum.wait_for_pre_votes(lost)
            seen = quorum.look()
            assert FindingKind.EPOCH_AHEAD not in kinds(seen)
        else:
            seen = quorum.look_until(
                lambda seen: (
                    found(seen, FindingKind.EPOCH_AHEAD, lost) and found(seen, FindingKind.VOTER_NOT_FETCHING, lost)
                ),
                "the controller that is cut off is in a higher epoch and does not fetch",
            )
            ahead = found(seen, FindingKind.EPOCH_AHEAD, lost)
            assert ahead is not None
            assert ahead.evidence["epoch"] > ahead.evidence["leader_epoch"]
            assert found(seen, FindingKind.PRE_VOTE_MISSING, lost)
        cut_off = found(seen, FindingKind.VOTER_NOT_FETCHING, lost)
        assert cut_off is not None
        assert cut_off.evidence["answers_us"] is True
        assert "network" in cut_off.remedy
        assert seen.leader_epoch == before.leader_epoch
        with ThreadPoolExecutor(max_workers=1) as executor:
            watching = quorum.watch(executor, window_ms=10_000, controllers=True)
            quorum.cluster.proxy.clear()
            watched = watching.result()
    churn = found(watched, FindingKind.EPOCH_CHURN, lost)
    if has_pre_vote(kafka_version):
        assert churn is None
        assert quorum.wait_healthy().leader_epoch == before.leader_epoch
    else:
        assert churn is not None
        assert churn.evidence["from_epoch"] == before.leader_epoch
        assert churn.evidence["to_epoch"] > before.leader_epoch
        assert not watched.verdicts.elections.allowed


@pytest.mark.wide
@ONLY_STATIC
def test_a_voter_that_lost_its_disk(quorum: Quorum, kafka_version: str) -> None:
    lost = quorum.followers()[0]
    controller = quorum.cluster.controllers[lost]
    controller.kill()
    controller.wipe()
    with quorum.cluster.proxy.inject(Starve((lost,))):
        if has_pre_vote(kafka_version):
            _assert_that_the_log_shrinks(quorum, lost)
        else:  # without Pre-Vote, cutting it off would cause an election, and the next leader does not know the old log
            controller.start()
        seen, finding = quorum.wait_for(FindingKind.DISK_REPLACED, lost)
        assert finding.severity is Severity.WARNING
        assert finding.evidence["log_end_offset"] == 0
        assert not any(allowed for node_id, allowed in _may_restart(seen).items() if node_id != lost)


def _assert_that_the_log_shrinks(quorum: Quorum, lost: int) -> None:
    with ThreadPoolExecutor(max_workers=1) as executor:
        with quorum.cluster.cut_off(lost):  # so that it does not fetch before the window begins
            quorum.cluster.controllers[lost].start()
            watching = quorum.watch(executor, window_ms=8_000)
        watched = watching.result()
    shrunk = found(watched, FindingKind.DISK_REPLACED, lost)
    assert shrunk is not None
    assert shrunk.evidence["log_end_offset_before"] > 0
    assert shrunk.evidence["log_end_offset"] == 0


@pytest.mark.wide
@ONLY_STATIC
def test_voters_that_fetch_but_do_not_keep_up(quorum: Quorum) -> None:
    slow, other = quorum.followers()
    leader = quorum.leader()
    with quorum.cluster.proxy.inject(Starve((slow,))):
        seen, finding = quorum.wait_for(FindingKind.VOTER_LAGS, slow)
        assert (
            finding.evidence["lag_ms"] > finding.evidence["caught_up_within_ms"] >= finding.evidence["since_fetch_ms"]
        )
        assert finding.evidence["lag_records"] > 0
        assert seen.leader_id == leader
        assert seen.verdicts.elections.allowed
        assert _may_restart(seen) == {slow: True, leader: False, other: False}
    with quorum.cluster.proxy.inject(Starve((slow, other))):
        seen, finding = quorum.wait_for(FindingKind.MAJORITY_NOT_CAUGHT_UP, other)
        assert finding.severity is Severity.CRITICAL
        assert finding.evidence["caught_up"] == [leader]
        assert not seen.verdicts.elections.allowed
        assert not any(_may_restart(seen).values())


@pytest.mark.wide
@ONLY_STATIC
def test_timeouts_that_are_too_low(quorum: Quorum) -> None:
    node_id = quorum.followers()[0]
    controller = quorum.cluster.controllers[node_id]
    controller.properties[_ELECTION_TIMEOUT] = 100
    controller.restart()
    seen = quorum.look_until(lambda seen: found(seen, FindingKind.TIMEOUTS_TOO_LOW, node_id), "too low a timeout")
    finding = found(seen, FindingKind.TIMEOUTS_TOO_LOW, node_id)
    assert finding is not None
    assert finding.evidence["election_timeout_ms"] == {node_id: 100}
    assert finding.evidence["least_election_timeout_ms"] == 500
    differing = found(seen, FindingKind.TIMEOUTS_DIFFER, node_id)
    assert differing is not None
    assert differing.evidence[_ELECTION_TIMEOUT] == {**dict.fromkeys(quorum.cluster.controllers, 1000), node_id: 100}
    del controller.properties[_ELECTION_TIMEOUT]
    controller.restart()


def test_without_two_of_three_controllers_there_is_no_quorum(quorum: Quorum) -> None:
    with quorum.killed(*quorum.followers()):
        quorum.look_until(lambda seen: not seen.verdicts.elections.allowed, "no quorum")
        with quorum.wire() as wire:
            began = time.monotonic()
            verdict = judge_elections(wire.settings, NO_CONTROLLERS, None, 0)
            assert time.monotonic() - began < 2 * LIMIT_MS / 1000 + _SLACK_S
        assert not verdict.allowed
        assert verdict.reasons[0].startswith("no quorum")
        run = run_playbook(CHECK, quorum.variables())
        assert run.returncode == 2
        assert "no quorum" in run.output
        # Nobody fetches from the leader, so it steps down.
        seen = quorum.look_until(lambda seen: FindingKind.NO_LEADER in kinds(seen), "no leader")
        assert seen.leader_id is None
        assert seen.findings[0].kind is FindingKind.NO_LEADER
        assert seen.findings[0].evidence["controllers_answering"] == 1


@ONLY_STATIC
def test_a_frozen_former_leader_does_not_hide_a_healthy_quorum(quorum: Quorum) -> None:
    """The broker waits for the frozen leader's answer for up to controller.socket.timeout.ms, 30 s."""
    leader = quorum.leader()
    with quorum.frozen(leader):
        quorum.look_until(lambda seen: seen.leader_id not in (None, leader), "another leader")
        with quorum.wire() as wire:
            assert judge_elections(wire.settings, NO_CONTROLLERS, None, 0).allowed


@ONLY_STATIC
def test_a_static_quorum_takes_no_voters(quorum: Quorum) -> None:
    with quorum.wire() as wire, pytest.raises(VoterRefusedError, match="static"):
        plan_voter_change(QuorumPort(wire), Membership.ABSENT, Voter(103, None))
