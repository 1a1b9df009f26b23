# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stop campaign counts each way in which a prediction can be wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_prediction import StopReasonKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import (
    Answer,
    Asked,
    Gate,
    PartitionName,
    Stop,
    StopReason,
)
from campaign.stops.judging import Stopped, Verdict
from campaign.stops.states import Topic
from lab.client import PartitionState

_TOPIC = Topic(min_isr=2, unclean=False)


def a_state(leader: int | None, isr: tuple[int, ...], offline: tuple[int, ...] = ()) -> PartitionState:
    return PartitionState(leader, 0, (1, 2, 3), isr, (), (), offline)


def a_gate(*kinds: StopReasonKind, moves: int = 1, margin: int | None = 0) -> Gate:
    reasons = tuple(StopReason(each, (1,), "", "", (PartitionName("t", 0),)) for each in kinds)
    answer = Answer.NO if reasons else Answer.YES
    stop = Stop(
        brokers=(1,),
        verdict=answer,
        partitions=1,
        leaders_that_move=moves,
        led=(),
        margin=margin,
        controllers=(),
        controllers_to_spare=None,
        part_that_may_stop=(),
        changes=(),
    )
    return Gate(
        cluster_id="c",
        asked=Asked.MAY_STOP,
        verdict=answer,
        stops=(stop,),
        reasons=reasons,
        notes=(),
        waves=(),
        in_no_wave=(),
        tickets=(),
    )


def stopped(gate: Gate, after: PartitionState, before: PartitionState | None = None, lacks: int = 0) -> Stopped:
    return Stopped(
        gate=gate,
        topics={"t": _TOPIC},
        before={("t", 0): before or a_state(1, (1, 2, 3))},
        after={("t", 0): after},
        ends_before={("t", 0): 9},
        ends_after={("t", 0): 9 - lacks},
        stopped=frozenset({1}),
        down=frozenset(),
        reassigned=(),
        is_recent=False,
    )


def test_what_was_predicted_is_equal() -> None:
    verdict = Verdict(0, "any")
    stopped(a_gate(), a_state(2, (2, 3), (1,))).count(verdict)
    assert (verdict.sets, verdict.unequal, verdict.yes, verdict.leaders_moved) == (1, 0, 1, 1), verdict.notes


@pytest.mark.parametrize(
    ("gate", "after", "before"),
    [
        (a_gate(), a_state(None, (), (1,)), None),
        (a_gate(), a_state(2, (2,), (1,)), None),
        (a_gate(), a_state(2, (2, 3), (1,)), a_state(1, (1,))),
        (a_gate(), a_state(2, (2, 3), (1, 2, 3)), None),
        (a_gate(StopReasonKind.NO_LEADER), a_state(2, (2, 3), (1,)), None),
        (a_gate(StopReasonKind.BELOW_MIN_ISR), a_state(2, (2, 3), (1,)), None),
        (a_gate(StopReasonKind.UNKNOWN), a_state(2, (2, 3), (1,)), None),
        (a_gate(StopReasonKind.REASSIGNMENT), a_state(2, (2, 3), (1,)), None),
        (a_gate(moves=0), a_state(2, (2, 3), (1,)), None),
        (a_gate(margin=1), a_state(2, (2, 3), (1,)), None),
    ],
    ids=[
        "no leader",
        "below min ISR",
        "unclean",
        "no copy",
        "a leader",
        "enough in sync",
        "known",
        "not reassigned",
        "moved leaders",
        "margin",
    ],
)
def test_another_outcome_is_counted(gate: Gate, after: PartitionState, before: PartitionState | None) -> None:
    verdict = Verdict(0, "any")
    stopped(gate, after, before).count(verdict)
    assert verdict.unequal == 1
    assert verdict.notes


def test_lost_records_are_counted_unless_they_were_predicted() -> None:
    verdict = Verdict(0, "any")
    stopped(a_gate(), a_state(2, (2, 3), (1,)), lacks=1).count(verdict)
    assert (verdict.unequal, verdict.lost_records) == (1, 1)
    stopped(a_gate(StopReasonKind.LOST_RECORDS), a_state(2, (2, 3), (1,)), lacks=1).count(verdict)
    assert (verdict.unequal, verdict.lost_records) == (1, 2)


def test_a_wrong_answer_is_counted_although_its_reasons_are_right() -> None:
    gate = replace(a_gate(StopReasonKind.BELOW_MIN_ISR, margin=-1), verdict=Answer.YES)
    verdict = Verdict(0, "any")
    stopped(gate, a_state(2, (2,), (1,))).count(verdict)
    assert verdict.unequal == 1
