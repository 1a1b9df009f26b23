# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""KIP-966's rules on real brokers: which strategy waits, which recovers, and which acknowledgement it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.policies import PolicyError, PolicyOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.start_order import (
    describe_advice,
    find_start_order,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from integration.on_call import OnCall
from lab import Cluster, jars, scenarios, versions, wait_until
from lab.client import PartitionState

_COMMON, _LONGER, _LOST = 10, 5, 1
_UNFENCE_LATE = """
RULE stay fenced long after the registration
CLASS BrokerLifecycleManager
METHOD setReadyToUnfence
AT ENTRY
IF TRUE
DO delay(60000)
ENDRULE
"""


def test_a_dead_member_of_the_elr_is_waited_for_or_given_up(cluster: Cluster, on_call: OnCall) -> None:
    """Test rules 3.1 and 3.2. Without ELR, the last ISR with the same broker replaces it."""
    offline = scenarios.diverged(cluster, "waited", records=(_COMMON, _LONGER, _LOST))
    dead, shorter, longer = offline.replicas
    policies = {each.value: {"waited": Policy(each)} for each in Strategy}
    limited = {"limited": {"waited": Policy(Strategy.AGGRESSIVE, max_lost_records=0)}}
    plans = on_call.plans({**policies, **limited}, "waited")

    for strategy in (Strategy.NONE, Strategy.BALANCED):
        (left,) = plans[strategy.value].left_alone
        assert left.status is Status.REFUSED
        assert f"broker {dead} of the" in left.reason
        assert f"{strategy} waits" in left.reason
        assert [each.at_least for each in left.losses] == [0, _LONGER]
    assert plans["limited"].elections, "nothing is known to be lost, so that no limit holds it back"

    (election,) = plans["aggressive"].elections
    assert election.designated_leader == longer
    assert f"loses nothing that replica {shorter} holds" in election.reason
    assert f"against silent replica {dead}: an unknown number of records" in election.reason
    (outcome,) = on_call.carry_out(plans["aggressive"])
    assert outcome.status is Status.RECOVERED
    assert len(cluster.client.consume_all("waited", 0)) == _COMMON + _LONGER


def test_a_member_of_the_isr_comes_by_itself(cluster: Cluster, on_call: OnCall) -> None:
    """Test rule 1, and the advice about the broker to start."""
    offline = scenarios.diverged(cluster, "itself")
    dead = offline.replicas[0]
    found = on_call.look("itself")
    first, *_others = find_start_order(found.without_leader, found.brokers)
    assert first.broker_id == dead
    assert "1 partition back as soon as it returns, even if another replica holds more" in describe_advice(first)
    cluster.brokers[dead].start()
    wait_until(lambda: cluster.client.leader("itself") == dead, 60, what="the last leader leads again")
    assert on_call.plan(Strategy.AGGRESSIVE, "itself").elections == ()


@pytest.mark.wide
def test_unclean_elections_by_the_controller_must_be_acknowledged(cluster: Cluster, on_call: OnCall) -> None:
    replicas = {0: [1, 2, 3]}
    cluster.client.create_topic("racing", replicas, {"unclean.leader.election.enable": "true"})
    cluster.client.create_topic("safe", replicas, {"unclean.leader.election.enable": "false"})
    cluster.client.create_topic("unset", replicas)
    topics = ("racing", "safe", "unset")
    limited = Policy(Strategy.BALANCED, 7)
    for from_config in (True, False):
        with pytest.raises(PolicyError, match=r"enable is true for racing: .* acknowledge"):
            on_call.policies(topics, PolicyOptions(limited, from_config, acknowledges_unclean_leader_election=False))
    acknowledged = PolicyOptions(limited, from_config=True, acknowledges_unclean_leader_election=True)
    assert on_call.policies(topics, acknowledged) == {
        "racing": Policy(Strategy.AGGRESSIVE, 7),
        "safe": limited,
        "unset": limited,
    }


@pytest.mark.on_every_version
def test_nobody_is_known_to_hold_everything(cluster: Cluster, on_call: OnCall) -> None:
    """Test rules 4.1 to 4.3: the last leader registered again after a kill, which removed it from the ELR, and died."""
    offline = scenarios.diverged(cluster, "nobody")
    dead, *living = offline.replicas
    state = cluster.client.describe("nobody")[0]
    if not versions.has_elr(cluster.version):
        assert (state.isr, state.elr) == ((dead,), ()), "without ELR the ISR keeps its last member: rule 3"
        return
    assert dead in state.elr, "with ELR the last leader stays eligible until it registers again"
    _register_and_die(cluster, "nobody", dead, seen_by=living)
    state = cluster.client.describe("nobody")[0]
    assert (state.leader, state.elr, state.last_known_elr) == (None, (), (dead,))
    plans = on_call.plans({each.value: {"nobody": Policy(each)} for each in Strategy}, "nobody")
    (never,) = plans["none"].left_alone
    assert "strategy none never risks a loss" in never.reason
    (waits,) = plans["balanced"].left_alone
    assert f"balanced first compares the last known ELR: broker {dead} cannot lead now" in waits.reason
    (election,) = plans["aggressive"].elections
    assert election.designated_leader == offline.best
    assert {each.status for each in on_call.carry_out(plans["aggressive"])} == {Status.RECOVERED}


def _register_and_die(cluster: Cluster, topic: str, broker: int, *, seen_by: Iterable[int]) -> None:
    """Kill the broker between its registration, when the controller empties the ELR, and its unfencing."""

    def all_see(holds: Callable[[PartitionState], bool]) -> bool:
        return all(holds(cluster.client.describe(topic, broker=each)[0]) for each in seen_by)

    node = cluster.brokers[broker]
    rule = cluster.work_dir / "late.btm"
    rule.write_text(_UNFENCE_LATE)
    node.jvm_args.append(f"-javaagent:{jars.artifact(versions.BYTEMAN)}=script:{rule}")
    node.start(wait=False)
    wait_until(lambda: all_see(lambda state: state.elr == ()), 60, what=f"broker {broker} left the ELR")
    node.kill()
    node.jvm_args.pop()
    wait_until(lambda: all_see(lambda state: broker in state.offline_replicas), 60, what=f"broker {broker} is fenced")
