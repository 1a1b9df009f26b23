# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which brokers get the replicas that partitions have lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    BrokerState,
    Cause,
    PartitionState,
    Reassignment,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.cluster_now import (
    ClusterNow,
    DirWithSpace,
    WantedReplicas,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.placement import (
    leave_out_full,
    plan_moves,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.plan import (
    RedundancyPlan,
    ReplicaStatus,
)

_RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
_FIRST = TopicPartition("orders", 0)


def a_broker(broker_id: int, *, is_up: bool = True) -> Broker:
    state = BrokerState.ONLINE if is_up else BrokerState.FENCED
    return Broker(broker_id, "host", 9092, _RACKS[broker_id], not is_up, state)


def a_partition(replicas: tuple[int, ...], isr: tuple[int, ...], number: int = 0, leader: int | None = None) -> Any:
    led_by = leader if leader is not None else isr[0]
    offline = tuple(each for each in replicas if each not in isr)
    return PartitionState("orders", number, "A" * 22, led_by, 4, replicas, isr, (), (), offline)


def a_cluster(*states: PartitionState, down: tuple[int, ...] = (3, 5), free: int = 1_000, **more: Any) -> ClusterNow:
    return ClusterNow(
        states=states,
        brokers=tuple(a_broker(each, is_up=each not in down) for each in _RACKS),
        reassignments=more.pop("reassignments", {}),
        min_isr={"orders": 2},
        sizes={each.topic_partition: 10 for each in states},
        log_dirs={each: [DirWithSpace("/data", 1_000, free, 0, 0, 0)] for each in _RACKS if each not in down},
        **more,
    )


def test_a_lost_replica_goes_to_its_rack_and_keeps_its_place() -> None:
    (move,), left = plan_moves(a_cluster(a_partition((3, 1, 5), (1,))), WantedReplicas(lost_brokers=frozenset({3, 5})))
    assert (move.target, move.adding, move.removing, left) == ((4, 1, 6), (4, 6), (3, 5), ())
    assert move.is_below_min_isr


def test_a_broker_without_a_rack_comes_after_every_unused_rack_and_before_a_used_one() -> None:
    racks = {1: "a", 2: None, 3: "b", 4: "a", 5: "c", 6: "c"}
    for down, target in (((5, 6), (1, 3)), ((3, 5, 6), (1, 2)), ((2, 3, 5, 6), (1, 4))):
        found = a_cluster(a_partition((1, 5), (1,)), down=down)
        found = replace(found, brokers=tuple(replace(each, rack=racks[each.broker_id]) for each in found.brokers))
        (move,), _left = plan_moves(found, WantedReplicas(lost_brokers=frozenset(down)))
        assert move.target == target


@pytest.mark.parametrize(
    ("rack", "registered", "note"),
    [
        ("b", None, "on fewer racks than before: 2 instead of 3"),
        (None, None, "perhaps on fewer racks than before: 2, and the rack of broker 3 is not known"),
        (None, {1, 2, 4, 5, 6}, "perhaps on fewer racks than before: 2, and the rack of broker 3 is not known"),
        (None, {*_RACKS}, ""),  # it is listed, and has no rack
    ],
)
def test_fewer_racks_are_said_even_if_the_lost_rack_is_not_listed(
    rack: str | None, registered: set[int] | None, note: str
) -> None:
    racks = {1: "a", 2: "a", 3: rack, 4: rack, 5: "c", 6: "c"}
    listed = frozenset(registered) if registered is not None else None
    found = a_cluster(a_partition((1, 3, 5), (1, 5)), down=(3, 4), registered=listed)
    found = replace(found, brokers=tuple(replace(each, rack=racks[each.broker_id]) for each in found.brokers))
    (move,), _left = plan_moves(found, WantedReplicas(lost_brokers=frozenset({3, 4})))
    assert move.reason == note


def test_a_replica_that_stays_on_an_unregistered_broker_is_named() -> None:
    """Check mode planned the new replica, and the controller refused it: broker 5 was to stay in the target."""
    found = a_cluster(a_partition((3, 1, 5), (1,)), registered=frozenset({1, 2, 4, 6}))
    moves, (left,) = plan_moves(found, WantedReplicas(lost_brokers=frozenset({3})))
    assert (moves, left.status) == ((), ReplicaStatus.NO_BROKER)
    assert "broker 5 in its replica list is not registered" in left.reason
    (move,), _left = plan_moves(found, WantedReplicas(lost_brokers=frozenset({3, 5})))
    assert move.target == (4, 1, 6)


def test_a_broker_that_is_up_keeps_its_replica_though_it_was_declared_lost() -> None:
    wish = WantedReplicas(lost_brokers=frozenset({1, 3}))
    (move,), _left = plan_moves(a_cluster(a_partition((1, 3, 6), (1, 6))), wish)
    assert (move.target, move.removing) == ((1, 4, 6), (3,))


def test_partitions_below_min_isr_come_first() -> None:
    safe, unsafe = a_partition((1, 2, 3), (1, 2), 0), a_partition((1, 3, 5), (1,), 1)
    moves, _left = plan_moves(a_cluster(safe, unsafe), WantedReplicas(lost_brokers=frozenset({3, 5})))
    assert [each.partition for each in moves] == [1, 0]


def test_a_partition_without_a_leader_is_named_and_left_alone() -> None:
    offline = a_partition((3, 5, 1), (3,), leader=-1)
    moves, (left,) = plan_moves(a_cluster(offline), WantedReplicas(lost_brokers=frozenset({3, 5})))
    assert (moves, left.status) == ((), ReplicaStatus.NO_LEADER)


def test_a_replica_on_a_broker_that_does_not_answer_is_in_doubt() -> None:
    """The controller has not fenced it yet. It is in doubt only if it was not declared lost."""
    silent = replace(a_broker(3), state=BrokerState.HUNG, cause=Cause.HUNG)
    found = a_cluster(a_partition((3, 1), (3, 1), 0), a_partition((1, 6), (1, 6), 1), down=())
    found = replace(found, brokers=(silent, *(each for each in found.brokers if each.broker_id != silent.broker_id)))
    _moves, (left,) = plan_moves(found, WantedReplicas(all_under_replicated=True))
    assert (left.partition, left.status) == (0, ReplicaStatus.UNANSWERED)
    assert "broker 3 is not fenced, and does not answer (hung)" in left.reason
    (move,), left_alone = plan_moves(found, WantedReplicas(all_under_replicated=True, lost_brokers=frozenset({3})))
    assert (move.target, left_alone) == ((4, 1), ())


@pytest.mark.parametrize("state", [BrokerState.HUNG, BrokerState.UNREACHABLE, BrokerState.NOT_AUTHORIZED])
def test_a_replica_that_catches_up_on_a_broker_that_does_not_answer_us_stays(state: BrokerState) -> None:
    """It is not fenced, so it runs, as far as the controller knows. One that refuses us answers: it is not in doubt."""
    found = a_cluster(a_partition((1, 2, 4), (1, 2))._replace(offline_replicas=()), down=())
    silent = replace(a_broker(4), state=state)
    found = replace(found, brokers=tuple(silent if each.broker_id == 4 else each for each in found.brokers))
    moves, left = plan_moves(found, WantedReplicas(all_under_replicated=True))
    doubt = [] if state is BrokerState.NOT_AUTHORIZED else [ReplicaStatus.UNANSWERED]
    assert (moves, [each.status for each in left]) == ((), doubt)


def with_silent(found: ClusterNow, broker_id: int) -> ClusterNow:
    silent = replace(a_broker(broker_id), state=BrokerState.HUNG, cause="no answer")
    return replace(found, brokers=(silent, *(each for each in found.brokers if each.broker_id != broker_id)))


def test_a_lost_broker_that_is_up_again_gets_no_records_from_a_leader_that_hangs() -> None:
    """Its replica is named only while it is behind. A replica of the hung broker was not asked for."""
    behind, in_sync, others = a_partition((2, 3), (2,), 0), a_partition((2, 3), (2, 3), 1), a_partition((2, 1), (2,), 2)
    wish = WantedReplicas(lost_brokers=frozenset({3}))
    behind = behind._replace(offline_replicas=())
    moves, (left,) = plan_moves(with_silent(a_cluster(behind, in_sync, others, down=()), 2), wish)
    assert (moves, left.partition, left.status) == ((), 0, ReplicaStatus.UNANSWERED)
    assert "the metadata names broker 2 as leader, and it does not answer (no answer)" in left.reason

    without_leader = behind._replace(leader_id=-1, isr=(), offline_replicas=(2,))
    _moves, (left,) = plan_moves(a_cluster(without_leader, down=(2,)), wish)
    assert left.status is ReplicaStatus.NO_LEADER


def test_a_lost_broker_that_is_down_is_replaced_though_the_leader_is_silent_here() -> None:
    """If the leader hangs, another one is elected. If only this host cannot reach it, it serves the copy."""
    found = with_silent(a_cluster(a_partition((2, 3), (2,)), down=(3,)), 2)
    (move,), left = plan_moves(found, WantedReplicas(lost_brokers=frozenset({3})))
    assert (move.target, left) == ((2, 4), ())


@pytest.mark.parametrize("state", [BrokerState.HUNG, BrokerState.FENCED])
def test_a_running_copy_to_another_broker_that_stopped_is_planned_again(state: BrokerState) -> None:
    """A killed run began it, for the lost broker 3. Broker 4 was not declared lost."""
    copying = a_partition((1, 4, 3), (1,))
    running = {_FIRST: Reassignment(adding=(4,), removing=(3,))}
    found = a_cluster(copying, down=(3,), reassignments=running)
    stopped = replace(a_broker(4), state=state, is_fenced=state is BrokerState.FENCED)
    found = replace(found, brokers=tuple(stopped if each.broker_id == 4 else each for each in found.brokers))
    (move,), left = plan_moves(found, WantedReplicas(lost_brokers=frozenset({3})))
    assert (move.target, move.adding, left) == ((1, 5), (5,), ())
    assert plan_moves(found, WantedReplicas(lost_brokers=frozenset({6}))) == ((), ())


def test_a_topic_that_is_hidden_may_lack_replicas() -> None:
    """Unless other partitions were asked for by name."""
    hidden = TopicPartition("payments", 0)
    found = a_cluster(a_partition((1, 2), (1, 2)), down=(3,), hidden=(hidden,))
    for wish in ({"lost_brokers": frozenset({3})}, {"all_under_replicated": True}):
        _moves, (left,) = plan_moves(found, WantedReplicas(**wish))
        assert (left.topic_partition, left.status) == (hidden, ReplicaStatus.HIDDEN)
    assert plan_moves(found, WantedReplicas(partitions=frozenset({_FIRST}))) == ((), ())


def test_without_space_nothing_is_placed() -> None:
    state = a_partition((1, 2, 3), (1, 2))
    moves, (left,) = plan_moves(a_cluster(state, free=105), WantedReplicas(lost_brokers=frozenset({3})))
    assert (moves, left.status) == ((), ReplicaStatus.NO_BROKER)
    assert "105 bytes free" in left.reason


def test_a_reviewed_plan_fills_no_volume_that_has_less_space_by_now() -> None:
    """Nothing is copied to it: a full volume takes all its replicas offline. What was begun before goes on."""
    wish = WantedReplicas(lost_brokers=frozenset({3}))
    states = [a_partition((1, 2, 3), (1, 2), number) for number in (0, 1)]
    moves, _left = plan_moves(a_cluster(*states), wish)
    plan = RedundancyPlan(
        cluster_id="c", created_at="", lost_brokers=(3,), moves=moves, left_alone=(), racks=(), notes=()
    )
    assert leave_out_full(plan, a_cluster(*states), wish) == plan
    begun = a_partition((*moves[0].target, 3), (1, 2), 0)
    found = leave_out_full(plan, a_cluster(begun, states[1], free=105), wish)
    assert [each.partition for each in found.moves] == [0]
    (left,) = found.left_alone
    assert (left.partition, left.status) == (1, ReplicaStatus.NO_BROKER)
    assert left.reason.startswith("the space does not suffice any more, so make a new plan: broker ")


def test_a_running_copy_is_taken_over_if_it_replaces_a_lost_broker() -> None:
    state = a_partition((1, 6, 4, 3), (1, 6))
    running = {_FIRST: Reassignment(adding=(4,), removing=(3,))}
    (move,), left = plan_moves(a_cluster(state, reassignments=running), WantedReplicas(lost_brokers=frozenset({3})))
    assert (move.target, move.adding, move.removing, left) == ((1, 6, 4), (4,), (3,), ())
    assert "takes over a running reassignment" in move.reason


def test_a_running_copy_of_another_party_is_left() -> None:
    state = a_partition((1, 6, 4, 2), (1, 6, 2))
    running = {_FIRST: Reassignment(adding=(4,), removing=(2,))}
    found = a_cluster(state, reassignments=running)
    assert plan_moves(found, WantedReplicas(lost_brokers=frozenset({3}))) == ((), ())


@pytest.mark.parametrize("wish", [{"all_under_replicated": True}, {"partitions": frozenset({_FIRST})}])
def test_a_running_copy_that_completes_by_itself_is_left_whatever_was_asked_for(wish: Any) -> None:
    """Cruise Control moves a replica from one healthy broker to another. One from a dead broker is taken over."""
    running = {_FIRST: Reassignment(adding=(6,), removing=(3,))}
    healthy = a_partition((1, 2, 6, 3), (1, 2, 3))._replace(offline_replicas=())
    assert plan_moves(a_cluster(healthy, down=(), reassignments=running), WantedReplicas(**wish)) == ((), ())
    from_dead = a_partition((1, 2, 6, 3), (1, 2))._replace(offline_replicas=(3,))
    (move,), _left = plan_moves(a_cluster(from_dead, down=(3,), reassignments=running), WantedReplicas(**wish))
    assert (move.target, move.adding, move.removing) == ((1, 2, 6), (6,), (3,))
    to_dead = healthy._replace(offline_replicas=(6,))
    (move,), _left = plan_moves(a_cluster(to_dead, down=(6,), reassignments=running), WantedReplicas(**wish))
    assert (move.target, move.adding, {*move.removing}) == ((1, 2, 4), (4,), {3, 6})


def test_no_partition_gets_more_replicas_because_others_of_its_topic_are_being_moved() -> None:
    """Of four partitions, a killed run copies two."""
    copying = [a_partition((1, 2, 6, 3), (1, 2), number) for number in (0, 1)]
    copying = [each._replace(offline_replicas=(3,)) for each in copying]
    healthy = [a_partition((4, 5, 6), (4, 5, 6), number) for number in (2, 3)]
    running = {each.topic_partition: Reassignment(adding=(6,), removing=(3,)) for each in copying}
    found = a_cluster(*copying, *healthy, down=(3,), reassignments=running)
    moves, left = plan_moves(found, WantedReplicas(all_under_replicated=True))
    assert ([each.partition for each in moves], left) == ([0, 1], ())


@given(
    st.lists(st.permutations(tuple(_RACKS)), min_size=1, max_size=8),
    st.sets(st.sampled_from(tuple(_RACKS)), min_size=1, max_size=3),
)
def test_no_healthy_replica_moves_and_no_rack_is_lost_needlessly(orders: list[list[int]], down: set[int]) -> None:
    states = []
    for number, order in enumerate(orders):
        replicas = tuple(order[:3])
        isr = tuple(each for each in replicas if each not in down)
        if isr:
            states.append(a_partition(replicas, isr, number))
    by_partition = {each.topic_partition: each for each in states}
    moves, left = plan_moves(a_cluster(*states, down=tuple(down)), WantedReplicas(lost_brokers=frozenset(down)))
    living = {rack for broker, rack in _RACKS.items() if broker not in down}
    for move in moves:
        state = by_partition[move.topic_partition]
        assert {*state.isr} <= {*move.target}
        assert len(move.target) == len({*move.target}) == 3
        assert not down & {*move.target}
        before = {_RACKS[each] for each in state.replicas}
        assert len({_RACKS[each] for each in move.target}) >= min(len(before), len(living))
    lacking = {each.topic_partition for each in states if down & {*each.replicas}}
    assert {each.topic_partition for each in moves} == lacking
    assert not left
