# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a stop of brokers would do to each partition, what would make it a yes, and the waves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Broker,
    BrokerState,
    PartitionState,
    Reassignment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_prediction import (
    ClusterView,
    StopReasonKind,
    predict_stop,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.advice import (
    Wave,
    largest_allowed,
    plan_waves,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import (
    notes_about,
    reasons_of,
    smallest_changes,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.question import (
    QuestionError,
    check_terms,
    question_of,
)

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
STATE = PartitionState("orders", 0, "A" * 22, 1, 5, (1, 3, 5), (1, 3, 5), (), (), ())


def a_view(
    *states: PartitionState,
    min_isr: int | None = 2,
    unclean: bool | None = False,
    down: Mapping[int, BrokerState] | None = None,
    unclean_elections: Mapping[int, int | None] | None = None,
    **more: Any,
) -> ClusterView:
    topics = {each.topic for each in states}
    up = {each: (down or {}).get(each, BrokerState.ONLINE) for each in RACKS}
    elections = {each: (unclean_elections or {}).get(each, 0) for each in RACKS}
    brokers = [
        Broker(
            each,
            "h",
            1,
            RACKS[each],
            it is BrokerState.FENCED,
            it,
            unclean_elections=elections[each],
            unclean_elections_missing="" if elections[each] is not None else "no controller answers",
        )
        for each, it in up.items()
    ]
    return ClusterView(
        states=states,
        brokers=tuple(brokers),
        min_isr={} if min_isr is None else dict.fromkeys(topics, min_isr),
        unclean={} if unclean is None else dict.fromkeys(topics, unclean),
        **more,
    )


def kinds(view: ClusterView, *stopped: int) -> set[StopReasonKind]:
    return {each.kind for each in predict_stop(view, stopped).effects}


@pytest.mark.parametrize("state", [BrokerState.HUNG, BrokerState.UNREACHABLE, BrokerState.NOT_AUTHORIZED])
def test_a_next_leader_that_does_not_answer_is_no_yes(state: BrokerState) -> None:
    """The controller elects the first one in sync that it has not fenced. Nobody knows what that broker has."""
    view = a_view(STATE, down={3: state}, min_isr=1)
    assert kinds(view, 1) == {StopReasonKind.SILENT_LEADER}
    assert kinds(view, 5) == set(), "its leader stays"
    assert kinds(a_view(STATE, down={5: state}, min_isr=1), 1) == set(), "broker 3 comes first"
    assert kinds(a_view(STATE._replace(isr=(1, 5)), down={3: state}, min_isr=1), 1) == set(), "it is not in sync"
    assert kinds(a_view(STATE, down={3: BrokerState.FENCED}, min_isr=1), 1) == set(), "it is fenced"


def bears(_stopped: Collection[int]) -> bool:
    return True


@pytest.mark.parametrize(
    ("state", "stopped", "wanted"),
    [
        (STATE, (1,), set()),
        (STATE, (2, 4, 6), set()),
        (STATE, (1, 3), {StopReasonKind.BELOW_MIN_ISR}),
        (STATE, (1, 3, 5), {StopReasonKind.NO_LEADER, StopReasonKind.LAST_COPY}),
        (STATE._replace(isr=(1,)), (1,), {StopReasonKind.NO_LEADER}),
        (STATE._replace(isr=(1,)), (3,), {StopReasonKind.BELOW_MIN_ISR}),
        # A member of the ELR may lead, and is then the only one in sync.
        (STATE._replace(isr=(1,), elr=(3,)), (1,), {StopReasonKind.BELOW_MIN_ISR}),
        (STATE._replace(isr=(1,), elr=None), (1,), {StopReasonKind.NO_LEADER}),
        (STATE._replace(isr=(1,), offline_replicas=(3, 5)), (1,), {StopReasonKind.NO_LEADER, StopReasonKind.LAST_COPY}),
        # The replica of broker 3 is offline already: its stop changes nothing.
        (STATE._replace(isr=(1,), offline_replicas=(3,)), (3,), set()),
        (STATE._replace(leader_id=-1, isr=(5,), offline_replicas=(5,)), (1,), {StopReasonKind.ALREADY_LEADERLESS}),
        (
            STATE._replace(leader_id=-1, isr=(5,), offline_replicas=(3, 5)),
            (1,),
            {StopReasonKind.ALREADY_LEADERLESS, StopReasonKind.LAST_COPY},
        ),
        (STATE._replace(replicas=(1,), isr=(1,)), (1,), {StopReasonKind.NO_LEADER, StopReasonKind.LAST_COPY}),
        # min.insync.replicas is at most the replication factor.
        (STATE._replace(replicas=(1, 3), isr=(1, 3)), (3,), {StopReasonKind.BELOW_MIN_ISR}),
        (STATE._replace(replicas=(1,), isr=(1,)), (3,), set()),
    ],
)
def test_what_happens_to_a_partition(
    state: PartitionState, stopped: tuple[int, ...], wanted: set[StopReasonKind]
) -> None:
    assert kinds(a_view(state), *stopped) == wanted


def test_an_unclean_election_is_no_way_out() -> None:
    assert kinds(a_view(STATE._replace(isr=(1,)), unclean=True, min_isr=1), 1) == {StopReasonKind.UNCLEAN_ELECTION}


@pytest.mark.parametrize("missing", [{"min_isr": None}, {"unclean": None}])
def test_a_setting_that_could_not_be_read_is_a_reason(missing: dict[str, None]) -> None:
    assert kinds(a_view(STATE, **missing), 1) == {StopReasonKind.UNKNOWN}
    assert predict_stop(a_view(STATE, **missing), [1]).margin is None


def test_a_broker_that_hangs_counts_as_down_also_if_it_is_in_the_isr() -> None:
    view = a_view(STATE, down={3: BrokerState.HUNG, 5: BrokerState.UNREACHABLE})
    assert kinds(view, 1) == {StopReasonKind.NO_LEADER, StopReasonKind.LAST_COPY}


def test_a_running_reassignment_is_a_reason_for_its_own_partition_only() -> None:
    view = a_view(STATE, reassignments={STATE.topic_partition: Reassignment((2,), (3,))})
    assert (kinds(view, 1), kinds(view, 4)) == ({StopReasonKind.REASSIGNMENT}, set())


def test_the_margin_is_the_least_one() -> None:
    view = a_view(STATE, STATE._replace(partition=1, replicas=(1, 2, 3, 5), isr=(1, 2, 3, 5)))
    assert predict_stop(view, [1]).margin == 0
    assert predict_stop(view, [2]).margin == 1
    assert predict_stop(view, [4]).margin is None
    assert predict_stop(view, [1]).new_leaders == {("orders", 0): 3, ("orders", 1): 2}


def test_each_reason_has_all_its_partitions() -> None:
    states = [STATE._replace(partition=number, replicas=(1, 3), isr=(1, 3)) for number in range(3000)]
    (found,) = reasons_of(predict_stop(a_view(*states), [1]), [1])
    assert (found.kind, len(found.partitions)) == (StopReasonKind.BELOW_MIN_ISR, 3000)
    assert "3,000 partitions would be below min.insync.replicas" in found.text
    assert found.text.endswith("orders 0-2999")


def test_the_largest_part_and_what_has_to_be_in_sync() -> None:
    part, changes = smallest_changes(a_view(STATE), (1, 3, 6), bears)
    assert part in {(1, 6), (3, 6)}
    assert changes[0].startswith("stop only brokers ")
    part, changes = smallest_changes(a_view(STATE._replace(isr=(1, 3))), (1,), bears)
    assert (part, changes) == (
        (),
        ("wait until all replicas on live brokers are in sync, and no reassignment runs: orders 0",),
    )
    down = a_view(STATE._replace(isr=(1, 3), offline_replicas=(5,)), down={5: BrokerState.FENCED})
    assert smallest_changes(down, (1,), bears) == ((), ("start broker 5, and wait until all replicas are in sync",))
    leaderless = a_view(STATE._replace(leader_id=NO_LEADER, isr=(), elr=()))
    (change,) = smallest_changes(leaderless, (1,), bears)[1]
    assert change == (
        "recover the partitions without a leader (playbook kafkaops.recovery.recover_offline_partitions), then wait "
        "until all replicas on live brokers are in sync, and no reassignment runs: orders 0"
    )
    part, changes = smallest_changes(down, (1, 5, 6), bears)
    assert (part, changes[0]) == ((6,), "stop only broker 6 now, and broker 1 when it is back and in sync")
    key = down.states[0].topic_partition
    with_new_disk = replace(down, replaced={key: "its disk seems to have been replaced"})
    (change,) = smallest_changes(with_new_disk, (1,), bears)[1]
    others = sorted({*down.states[0].replicas} - {down.states[0].leader_id})
    named = f"broker{'s' if len(others) > 1 else ''} {', '.join(map(str, others))}"
    assert change.startswith(
        f"save the disks of {named} (playbook kafkaops.recovery.salvage_logs), then start broker 5"
    )
    assert f"{key}: its disk seems to have been replaced" in notes_about(with_new_disk)
    single = a_view(STATE._replace(replicas=(1,), isr=(1,)))
    assert "more replicas" in smallest_changes(single, (1,), bears)[1][0]


_SOME = st.lists(st.sampled_from(sorted(RACKS)), max_size=3, unique=True).map(tuple)


@st.composite
def states_of_all_kinds(draw: st.DrawFn) -> PartitionState:
    replicas = draw(st.permutations(sorted(RACKS)).flatmap(lambda ids: st.integers(1, 4).map(lambda n: tuple(ids[:n]))))
    isr, elr, offline = (tuple(each for each in replicas if each in draw(_SOME)) for _ in range(3))
    leader = draw(st.sampled_from([NO_LEADER, *(each for each in isr if each not in offline)]))
    number = draw(st.integers(0, 10_000))
    return STATE._replace(
        partition=number, replicas=replicas, isr=isr, elr=elr, offline_replicas=offline, leader_id=leader
    )


@given(
    st.lists(states_of_all_kinds(), max_size=4, unique_by=lambda each: each.partition),
    st.dictionaries(st.sampled_from(sorted(RACKS)), st.sampled_from([BrokerState.HUNG, BrokerState.FENCED])),
    st.sampled_from([{"min_isr": each, "unclean": one} for each in (1, 2, 3) for one in (False, True)]),
)
def test_no_larger_part_may_stop(
    states: list[PartitionState], down: dict[int, BrokerState], settings: dict[str, Any]
) -> None:
    view = a_view(*states, down=down, **settings)
    live = sorted(view.live)
    parts = [some for size in range(len(live), 0, -1) for some in combinations(live, size)]
    allowed = [some for some in parts if not predict_stop(view, some).effects]
    assert largest_allowed(view, live, bears) == (allowed[0] if allowed else ())


@pytest.mark.parametrize("state", [BrokerState.HUNG, BrokerState.NOT_AUTHORIZED])
def test_a_broker_that_runs_is_not_to_be_started(state: BrokerState) -> None:
    view = a_view(
        STATE._replace(isr=(1, 3), offline_replicas=(5,)),
        down={5: state, 6: BrokerState.FENCED},
        unclean_elections={5: None},
    )
    assert smallest_changes(view, (1,), bears)[1] == (
        "start broker 6, find out why broker 5, which runs, does not answer, and wait until all replicas are in sync",
    )


@pytest.mark.parametrize(
    ("unclean_elections", "wanted"),
    [
        ({5: None}, "start brokers 5, 6, and wait until all replicas are in sync. Broker 5 does not run. It is not "),
        (
            {5: None, 6: None},
            "start brokers 5, 6, and wait until all replicas are in sync. Brokers 5, 6 do not run. Of each, it is not ",
        ),
        (
            {5: 1, 6: None},
            "save the disks of broker 5 (playbook kafkaops.recovery.salvage_logs), then start brokers 5, 6, and wait "
            "until all replicas are in sync. Broker 6 does not run. It is not ",
        ),
    ],
    ids=["one", "both", "the other one is to be saved"],
)
def test_the_advice_to_start_a_broker_says_what_is_not_known_of_its_disk(
    unclean_elections: Mapping[int, int | None], wanted: str
) -> None:
    view = a_view(
        STATE._replace(isr=(1, 3), offline_replicas=(5,)),
        down={5: BrokerState.FENCED, 6: BrokerState.UNREACHABLE},
        unclean_elections=unclean_elections,
    )
    assert smallest_changes(view, (1,), bears)[1] == (
        f"{wanted}known whether another partition's leader was elected uncleanly since it stopped, because no "
        "controller answers. If one was, save its disk first: it deletes what that leader lacks.",
    )


def test_waves_are_racks_and_the_quorum_leader_s_rack_is_last() -> None:
    waves, left_out = plan_waves(a_view(STATE), bears, [2])
    assert waves == (Wave("b", (3, 4)), Wave("c", (5, 6)), Wave("a", (1, 2)))
    assert left_out == ()


def test_a_rack_that_holds_two_replicas_needs_two_waves_and_a_single_replica_has_none() -> None:
    both = STATE._replace(replicas=(1, 2, 3), isr=(1, 2, 3))
    single = STATE._replace(topic="single", replicas=(6,), isr=(6,), leader_id=6)
    waves, left_out = plan_waves(a_view(both, single), bears)
    assert waves == (Wave("a", (1,)), Wave("a", (2,)), Wave("b", (3, 4)), Wave("c", (5,)))
    assert left_out == (6,)


def test_one_broker_stays_up_also_without_any_topic() -> None:
    view = a_view()
    assert view.keeps_a_broker([1, 2, 3, 4, 5])
    assert not view.keeps_a_broker(RACKS)
    assert not a_view(down={6: BrokerState.HUNG}).keeps_a_broker([1, 2, 3, 4, 5])
    part, changes = smallest_changes(view, sorted(RACKS), view.keeps_a_broker)
    assert len(part) == len(RACKS) - 1
    assert changes[-1] == "keep at least one broker up"
    assert notes_about(view) == ("no topic is visible: the answer rests on the brokers and the quorum alone",)


def test_brokers_that_are_down_come_back_before_the_last_one_stops() -> None:
    view = a_view(down={5: BrokerState.UNREACHABLE, 6: BrokerState.UNREACHABLE})
    _part, changes = smallest_changes(view, [1, 2, 3, 4], view.keeps_a_broker)
    assert changes[-1] == "start brokers 5, 6, and wait until all replicas are in sync"


def test_the_quorum_divides_a_wave() -> None:
    waves, _left_out = plan_waves(a_view(), lambda stopped: not {1, 2} <= {*stopped})
    assert waves[:2] == (Wave("a", (1,)), Wave("a", (2,)))


def test_the_question_names_every_problem() -> None:
    assert question_of([5, 4, 4], ["b"], ["1+2", "3"]).sets == ((4, 5), (1, 2), (3,))
    with pytest.raises(QuestionError, match="stop_gate_brokers=4,5"):
        question_of([], [], [])
    with pytest.raises(QuestionError, match=r"'1,x'(.|\n)*-4"):
        question_of([-4], [], ["1,x"])


def test_a_ticket_is_for_one_set_and_is_not_taken_and_released_at_once() -> None:
    with pytest.raises(QuestionError, match="one set of brokers"):
        question_of([1], ["a"], [], is_one_set=True)
    terms = {"take": True, "release": False, "minutes": 60, "release_timeout_ms": 0}
    check_terms(terms)
    for wrong in ({"release": True}, {"minutes": 0}, {"release_timeout_ms": -1}):
        with pytest.raises(QuestionError):
            check_terms(terms | wrong)
