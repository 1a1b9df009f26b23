# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Voters of a dynamic quorum, added and removed. Each test leaves it healthy."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.raft_voters import remove_voter
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import parse_addresses
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import Endpoint, Voter
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.assessment import Assessment
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.finding import FindingKind, Severity
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.voters import (
    Membership,
    PlannedVoterChange,
    QuorumPort,
    VoterRefusedError,
    change_voters,
    plan_voter_change,
)
from integration.quorum.watched import ONLY_DYNAMIC, Quorum, found, kinds
from lab import wait_until
from lab.faults import Before
from lab.playbook import run_playbook
from lab.quorum import Starve

pytestmark = ONLY_DYNAMIC

_AUTO_JOIN = "controller.quorum.auto.join.enable"
_VERIFY_MS = 30_000
_REPLACE = Path(__file__).with_name("replace_voter.yml")
_PLAYBOOK = "kafkaops.recovery.replace_controller"


def _endpoint(quorum: Quorum, node_id: int) -> Endpoint:
    (address,) = parse_addresses(quorum.cluster.advertised_controller(node_id))
    return Endpoint("CONTROLLER", address.host, address.port)


def _endpoints_option(quorum: Quorum, node_id: int) -> list[dict[str, object]]:
    """Return the value of option endpoints for a controller."""
    endpoint = _endpoint(quorum, node_id)
    return [{"name": endpoint.name, "host": endpoint.host, "port": endpoint.port}]


def _planned(quorum: Quorum, membership: Membership, voter: Voter, *, controllers: bool = False) -> PlannedVoterChange:
    with quorum.wire(quorum.cluster.controllers_at() if controllers else "") as wire:
        return plan_voter_change(QuorumPort(wire), membership, voter)


def _changed(quorum: Quorum, membership: Membership, voter: Voter) -> None:
    with quorum.wire() as wire:
        change = plan_voter_change(QuorumPort(wire), membership, voter)
        change_voters(QuorumPort(wire), change, verify_timeout_ms=_VERIFY_MS)


def _may_all_be_added(seen: Assessment) -> bool:
    """Return whether there are controllers to add, and all of them may be added."""
    return bool(seen.verdicts.addition) and all(each.allowed for each in seen.verdicts.addition)


def _voters_by_kafka(quorum: Quorum) -> str:
    """Return the voters from Kafka's own tool."""
    tool = quorum.cluster.client.run_tool(
        "org.apache.kafka.tools.MetadataQuorumCommand",
        *("--bootstrap-server", quorum.cluster.bootstrap("INTERNAL"), "describe", "--replication"),
    )
    return "\n".join(line for line in tool.stdout.splitlines() if "Observer" not in line)


def test_a_voter_with_a_new_disk_is_removed_and_added(quorum: Quorum) -> None:
    lost = quorum.followers()[0]
    quorum.replace_disk(lost)
    seen, finding = quorum.wait_for(FindingKind.DISK_REPLACED, lost)
    old, new = finding.evidence["voter_directory_id"], finding.evidence["directory_id"]
    assert old != new
    assert found(seen, FindingKind.VOTER_NOT_FETCHING, lost) is None
    assert [each.node_id for each in seen.verdicts.restart if each.allowed] == [lost]

    variables = {
        **quorum.variables(),
        "voter_id": lost,
        "old_directory_id": old,
        "new_directory_id": new,
        "endpoints": _endpoints_option(quorum, lost),
    }
    quorum.cluster.proxy.clear()
    run = run_playbook(str(_REPLACE), variables, "--tags", "preview")
    assert run.returncode == 0, run.output
    assert run.counts["changed"] == 1
    assert {each.broker for each in quorum.asked()} >= {*quorum.cluster.brokers}
    assert [each.name for each in quorum.asked() if each.is_write] == []

    run = run_playbook(str(_REPLACE), variables)
    assert run.returncode == 0, run.output
    voters = _voters_by_kafka(quorum)
    assert new in voters
    assert old not in voters


@pytest.mark.wide
def test_the_playbook_replaces_a_controller_and_resumes(quorum: Quorum) -> None:
    lost = quorum.followers()[0]
    quorum.replace_disk(lost)
    _seen, finding = quorum.wait_for(FindingKind.DISK_REPLACED, lost)
    assert "kafkaops.recovery.replace_controller" in finding.remedy
    old, new = finding.evidence["voter_directory_id"], finding.evidence["directory_id"]
    variables = {**quorum.variables(), "controller_replacement_voter_id": lost}

    quorum.cluster.proxy.clear()
    previewed = run_playbook(_PLAYBOOK, variables, "--check")
    assert previewed.returncode == 0, previewed.output
    assert [each.name for each in quorum.asked() if each.is_write] == []
    assert f"would replace directory id {old} of controller {lost} by {new}" in previewed.words

    run = run_playbook(_PLAYBOOK, variables)
    assert run.returncode == 0, run.output
    voters = _voters_by_kafka(quorum)
    assert new in voters
    assert old not in voters

    again = run_playbook(_PLAYBOOK, variables)
    assert again.returncode == 0, again.output
    assert again.counts["changed"] == 0

    # Simulate a run that was killed between its two changes.
    _changed(quorum, Membership.ABSENT, Voter(lost, new))
    refused = run_playbook(_PLAYBOOK, variables)
    assert refused.returncode != 0
    assert "Set controller_replacement_endpoints" in refused.words
    options = {"controller_replacement_endpoints": _endpoints_option(quorum, lost)}
    resumed = run_playbook(_PLAYBOOK, {**variables, **options})
    assert resumed.returncode == 0, resumed.output
    assert new in _voters_by_kafka(quorum)


def test_a_broker_is_refused(quorum: Quorum) -> None:
    # The broker must be caught up, so that there is no other reason against it.
    quorum.look_until(
        lambda seen: [each.is_caught_up for each in seen.observers if each.replica_id == 1] == [True],
        "the broker is caught up",
    )
    with pytest.raises(VoterRefusedError) as refused:
        _planned(quorum, Membership.PRESENT, Voter(1, None, (Endpoint("CONTROLLER", "localhost", 1),)))
    (reason,) = refused.value.reasons
    assert reason.startswith("1 is a registered broker")


@pytest.mark.wide
def test_a_new_voter_that_is_not_caught_up_is_refused(quorum: Quorum) -> None:
    new, other = quorum.followers()
    (directory_id,) = [each.directory_id for each in quorum.look().voters if each.replica_id == new]
    _changed(quorum, Membership.ABSENT, Voter(new, None))
    voter = Voter(new, directory_id, (_endpoint(quorum, new),))
    with quorum.cluster.proxy.inject(Starve((new,))):
        quorum.look_until(
            lambda seen: all(not each.is_caught_up for each in seen.observers if each.replica_id == new),
            "the new voter lags",
            controllers=False,
        )
        with pytest.raises(VoterRefusedError) as refused:
            _planned(quorum, Membership.PRESENT, voter)
        assert refused.value.reasons[0].startswith(f"controller {new} is not caught up")
        with quorum.frozen(other):
            quorum.look_until(
                lambda seen: not seen.verdicts.elections.allowed, "the other voter lags", controllers=False
            )
            with pytest.raises(VoterRefusedError) as refused:
                _planned(quorum, Membership.PRESENT, voter)
        assert "no quorum" in refused.value.reasons[0]
    quorum.look_until(_may_all_be_added, "the new voter is caught up again")
    _changed(quorum, Membership.PRESENT, voter)


@pytest.mark.wide
def test_a_new_voter_that_falls_behind(quorum: Quorum) -> None:
    new = quorum.followers()[0]
    _changed(quorum, Membership.ABSENT, Voter(new, None))
    quorum.look_until(_may_all_be_added, "the removed voter is an observer")
    with ThreadPoolExecutor(max_workers=1) as executor:
        watching = quorum.watch(executor, window_ms=15_000)
        _changed(quorum, Membership.PRESENT, Voter(new, None, (_endpoint(quorum, new),)))
        with quorum.cluster.proxy.inject(Starve((new,))):
            watched = watching.result()
    finding = found(watched, FindingKind.NEW_VOTER_NOT_CAUGHT_UP, new)
    assert finding is not None
    assert finding.severity is Severity.WARNING
    assert finding.evidence["lag_records"] > 0
    assert new not in finding.evidence["caught_up"]
    assert found(watched, FindingKind.VOTER_JOINED, new)


@pytest.mark.wide
def test_findings_about_two_voters_and_one_voter(quorum: Quorum) -> None:
    first, second = quorum.followers()
    _changed(quorum, Membership.ABSENT, Voter(first, None))
    two = quorum.look_until(lambda seen: FindingKind.EVEN_VOTERS in kinds(seen), "two voters", controllers=False)
    (finding,) = [each for each in two.findings if each.kind is FindingKind.EVEN_VOTERS]
    assert finding.evidence == {"voters": 2, "majority": 2, "failures_borne": 0}
    _changed(quorum, Membership.ABSENT, Voter(second, None))
    one = quorum.look_until(lambda seen: FindingKind.SINGLE_VOTER in kinds(seen), "one voter", controllers=False)
    assert found(one, FindingKind.SINGLE_VOTER, one.voters[0].replica_id)
    for node_id in (first, second):
        quorum.look_until(_may_all_be_added, "the removed voters are caught up")
        _changed(quorum, Membership.PRESENT, Voter(node_id, None, (_endpoint(quorum, node_id),)))


def test_a_removal_that_would_cost_the_majority_is_refused(quorum: Quorum) -> None:
    lost, other = quorum.followers()
    with quorum.frozen(lost):
        quorum.wait_for(FindingKind.VOTER_NOT_FETCHING, lost)
        with pytest.raises(VoterRefusedError, match=f"with voter {other} removed, 1 of 2 voters would be caught up"):
            _planned(quorum, Membership.ABSENT, Voter(other, None))
        assert _planned(quorum, Membership.ABSENT, Voter(lost, None)).is_needed


@pytest.mark.wide
def test_a_removed_voter_that_adds_itself_again(quorum: Quorum) -> None:
    node_id = quorum.followers()[0]
    controller = quorum.cluster.controllers[node_id]
    controller.properties[_AUTO_JOIN] = "true"
    controller.restart()
    seen = quorum.wait_healthy()
    (asked,) = [each for each in seen.controllers if each.node_id == node_id]
    (voter,) = [each for each in seen.voters if each.replica_id == node_id]
    if asked.auto_join:
        with pytest.raises(VoterRefusedError, match="KAFKA-19850"):
            _planned(quorum, Membership.ABSENT, Voter(node_id, None), controllers=True)
    # Delay its request to join, so that a look sees it removed.
    late = quorum.cluster.proxy.inject(Before(lambda: time.sleep(1.5)), api_key=ApiKey.AddRaftVoter)
    with late, ThreadPoolExecutor(max_workers=1) as executor, quorum.wire() as wire:
        watching = quorum.watch(executor, window_ms=10_000, controllers=True)
        (broker,) = parse_addresses(quorum.cluster.bootstrap())
        assert seen.cluster_id is not None
        remove_voter(wire, broker, seen.cluster_id, Voter(node_id, voter.directory_id))
        watched = watching.result()
    joined = found(watched, FindingKind.VOTER_JOINED, node_id)
    active = found(watched, FindingKind.REMOVED_VOTER_ACTIVE, node_id)
    if asked.auto_join:
        assert joined is not None
        assert joined.evidence["was_removed_in_window"]
    else:  # before Kafka 4.2
        assert joined is None
        assert active is not None
        assert active.evidence["was_voter_in_window"]
    controller.properties[_AUTO_JOIN] = "false"
    controller.restart()
    if not asked.auto_join:
        quorum.look_until(_may_all_be_added, "caught up again")
        _changed(quorum, Membership.PRESENT, Voter(node_id, None, (_endpoint(quorum, node_id),)))


@pytest.mark.wide
def test_a_controller_that_was_removed_and_stopped_is_no_problem(quorum: Quorum) -> None:
    removed = quorum.followers()[0]
    voter = next(each for each in quorum.look().voters if each.replica_id == removed)
    _changed(quorum, Membership.ABSENT, Voter(removed, voter.directory_id))
    quorum.cluster.controllers[removed].stop()
    wait_until(
        lambda: found(quorum.look(), FindingKind.REMOVED_CONTROLLER_REGISTERED, removed) is not None,
        60,
        what="it is removed",
    )
    assert found(quorum.look(), FindingKind.CONTROLLER_SILENT, removed) is None
    left = [each for each in quorum.cluster.controllers if each != removed]
    named = {"kafka_bootstrap_controllers": ",".join(map(quorum.cluster.advertised_controller, left))}
    run = run_playbook("kafkaops.recovery.check_quorum", quorum.variables() | named)
    assert run.returncode == 0, run.output
    assert "removed controller registered" in run.output
