# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A member of the ELR can lead and is not elected: a stable case of rule 2 on a real broker.

The controller elects such a member when its broker is unfenced. So it must not be electable then, and become so later
without the controller looking again: its log was moved by hand from a log dir that is not coming back to another one of
the same broker. At its registration the controller takes the replica for one on an offline log dir; then the broker
reports where it has it (AssignReplicasToDirs, KIP-858), and no election follows. A busy broker may report before it is
unfenced: Byteman keeps it from that.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import ElectionType, Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from integration.strategies.logs_on_disk import log_of
from integration.strategies.outages import wait_isr
from lab import Cluster, jars, versions, wait_until
from lab.client import PartitionState

_TOPIC = "moved"
_LAST_LEADER, _DEAD, _BEHIND, _WITNESS = 1, 2, 3, 4
_COMMON, _MORE, _MOST = 10, 5, 2
_TELL_LATE = """
RULE report to the controller where logs are long after the broker is unfenced
CLASS org.apache.kafka.server.AssignmentsManager
METHOD maybeSendAssignments
AT ENTRY
IF TRUE
DO delay(12000)
ENDRULE
"""


@pytest.mark.wide
def test_a_member_of_the_elr_whose_log_was_moved(kafka_version: str, tmp_path: Path) -> None:
    has_elr = not kafka_version.startswith("3.")
    features = {"eligible.leader.replicas.version": 1} if has_elr else {}
    # A slow broker on a busy machine must not be fenced: its return would make the controller elect leaders.
    patient = {"broker.session.timeout.ms": 6000}
    with Cluster(
        kafka_version, brokers=4, log_dirs=2, features=features, properties=patient, controller_properties=patient
    ) as cluster:
        _move_the_log(cluster)
        state = cluster.client.describe(_TOPIC, broker=_WITNESS)[0]
        assert (state.leader, state.leader_epoch, state.offline_replicas) == (None, 1, (_DEAD,))
        on_call = OnCall(cluster, tmp_path)
        if has_elr and versions.KAFKA.index(kafka_version) < versions.KAFKA.index("4.3.1"):
            _is_the_last_known_leader(on_call, state)
            return
        assert (state.isr, state.elr) == (((), (_LAST_LEADER,)) if has_elr else ((_LAST_LEADER,), ()))
        if not has_elr:
            _comes_when_anything_changes(on_call)
            return
        for strategy in (Strategy.NONE, Strategy.BALANCED, Strategy.AGGRESSIVE):
            (election,) = on_call.plan(strategy, _TOPIC).elections
            assert (election.designated_leader, election.election_type) == (_LAST_LEADER, ElectionType.PREFERRED)
            assert f"broker {_LAST_LEADER} of the ELR can lead" in election.reason
        bounds = {each.broker_id: (each.at_least, each.at_most) for each in election.losses}
        assert bounds == {_LAST_LEADER: (0, 0), _BEHIND: (_MORE + _MOST, _MORE + _MOST)}
        dead, leader = (log_of(cluster, each, _TOPIC, 0) for each in (_DEAD, _LAST_LEADER))
        assert dead < leader, "the dead one held no more, as the upper bound says"
        (outcome,) = on_call.carry_out(on_call.plan(Strategy.NONE, _TOPIC))
        assert outcome.status is Status.RECOVERED
        assert len(cluster.client.consume_all(_TOPIC, 0)) == _COMMON + _MORE + _MOST


def _is_the_last_known_leader(on_call: OnCall, state: PartitionState) -> None:
    """Before 4.3, the controller empties the ELR when the broker reports where it has the log: rule 4.2."""
    assert (state.isr, state.elr, state.last_known_elr) == ((), (), (_LAST_LEADER,))
    (election,) = on_call.plan(Strategy.BALANCED, _TOPIC).elections
    assert (election.designated_leader, election.election_type) == (_LAST_LEADER, ElectionType.UNCLEAN)
    assert {each.at_most for each in election.losses} == {None}, "out of the ELR nothing vouches for its disk"
    (outcome,) = on_call.carry_out(on_call.plan(Strategy.BALANCED, _TOPIC))
    assert outcome.status is Status.RECOVERED


def _comes_when_anything_changes(on_call: OnCall) -> None:
    """Without ELR, the member is in the ISR, and the controller elects it at the next change: rule 1."""
    (election,) = on_call.plan(Strategy.NONE, _TOPIC).elections
    assert (election.designated_leader, election.election_type) == (_LAST_LEADER, ElectionType.PREFERRED)
    assert f"broker {_LAST_LEADER} of the ISR can lead: the controller elects it by itself" in election.reason
    (outcome,) = on_call.carry_out(on_call.plan(Strategy.NONE, _TOPIC))
    assert (outcome.status, outcome.leader_after) == (Status.RECOVERED, _LAST_LEADER), outcome
    assert len(on_call.cluster.client.consume_all(_TOPIC, 0)) == _COMMON + _MORE + _MOST


def _move_the_log(cluster: Cluster) -> None:
    client, leader = cluster.client, cluster.brokers[_LAST_LEADER]
    client.create_topic(_TOPIC, {0: [_LAST_LEADER, _DEAD, _BEHIND]}, {"min.insync.replicas": 1})
    wait_isr(cluster, [_TOPIC], {_LAST_LEADER, _DEAD, _BEHIND}, seen_by=_WITNESS)
    client.produce(_TOPIC, 0, _COMMON)
    cluster.brokers[_BEHIND].freeze()
    wait_isr(cluster, [_TOPIC], {_LAST_LEADER, _DEAD}, seen_by=_WITNESS)
    client.produce(_TOPIC, 0, _MORE)
    cluster.brokers[_DEAD].kill()
    wait_isr(cluster, [_TOPIC], {_LAST_LEADER}, seen_by=_WITNESS)
    client.produce(_TOPIC, 0, _MOST)
    leader.stop()
    wait_until(lambda: client.describe(_TOPIC, broker=_WITNESS)[0].leader is None, 60, what="it has no leader")
    cluster.brokers[_BEHIND].thaw()
    # Each unfenced broker makes the controller check offline partitions: unfence none after the log was found.
    _wait_away(cluster, {_LAST_LEADER, _DEAD}, seen_by=_WITNESS)
    (gone,) = (each for each in leader.data_dirs if (each / f"{_TOPIC}-0").exists())
    (stays,) = (each for each in leader.data_dirs if each != gone)
    shutil.move(gone / f"{_TOPIC}-0", stays / f"{_TOPIC}-0")
    leader.properties["log.dirs"] = str(stays)
    rule = cluster.work_dir / "late.btm"
    rule.write_text(_TELL_LATE)
    leader.jvm_args.append(f"-javaagent:{jars.artifact(versions.BYTEMAN)}=script:{rule}")
    leader.start()
    for broker in (_WITNESS, _LAST_LEADER, _BEHIND):
        _wait_away(cluster, {_DEAD}, seen_by=broker)


def _wait_away(cluster: Cluster, away: set[int], *, seen_by: int) -> None:
    def reached() -> bool:
        return set(cluster.client.describe(_TOPIC, broker=seen_by)[0].offline_replicas) == away

    wait_until(reached, 60, what=f"broker {seen_by} knows that no replicas but those on {away} can lead")
