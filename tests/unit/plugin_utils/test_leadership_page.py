# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text of a drain and of a restore, as approved by a person (see approving.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import OrderStatus, decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.election_module import count_targets
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import (
    Move,
    MoveStatus,
    move_away,
    move_to,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, racks_of
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import group_by_reason
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import count_by_status
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import to_json_types
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import drained_page, leadership_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered
from unit.leadership.worlds import a_state
from unit.plugin_utils.approving import approve
from unit.recovery import outages

_COLUMNS = 80
_SCREEN_LINES = 60
_SIZES = (12, 3000)
_VARIABLES = {"kafka_bootstrap_servers": ["kafka2.example.com:9092"]}


def _states(count: int) -> list[PartitionState]:
    """Return partitions of one topic on three brokers or, if there are many, of 300 topics on 20 brokers.

    Of the many, one in a hundred has a leader that no other replica can replace.
    """
    brokers = 3 if count < 100 else 20
    states = []
    for number in range(count):
        replicas = tuple((number + each) % brokers + 1 for each in range(3))
        is_alone = number % 1000 == 100
        state = a_state(replicas)._replace(
            topic="orders" if brokers == 3 else f"topic-{number // 10:03}",
            partition=number if brokers == 3 else number % 10,
            isr=replicas[:1] if is_alone else replicas,
        )
        states.append(state)
    return states


def _result(outcomes: Sequence[Any], statuses: type[OrderStatus | MoveStatus]) -> dict[str, Any]:
    return {
        "summary": count_by_status((each.status for each in outcomes), statuses),
        "groups": to_json_types(group_by_reason(outcomes)),
        "partitions": to_json_types(outcomes[:50]),
    }


def _done(move: Move | None) -> list[Move]:
    if move is None:
        return []
    is_moved = move.status is MoveStatus.WOULD_MOVE
    return [replace(move, status=MoveStatus.MOVED, leader_after=move.target) if is_moved else move]


def _shown(orders: Sequence[Any], moves: Sequence[Move], listed: tuple[list[int], list[int]], stop: Any) -> str:
    before, after = ({"brokers": each, "by_topic": []} for each in listed)
    memory = {"before": before, "after": after, "is_native": False, "remembered_in": "topic _kafkaops_leadership"}
    leaders = {**_result(moves, MoveStatus), "targets": count_targets(moves, racks_of(outages.brokers()))}
    may_stop = drained_page.blocks(stop, _VARIABLES, is_check=False)
    blocks = leadership_page.blocks({**_result(orders, OrderStatus), **memory}, leaders, may_stop, rows=False)
    return rendered(blocks, _COLUMNS, color=False)


def drained(count: int) -> str:
    """Return what a drain of broker 1 prints."""
    states = _states(count)
    decided = [decide(each, None, {1}).outcome for each in states]
    orders = [
        replace(each, status=OrderStatus.REORDERED) if each.status is OrderStatus.WOULD_REORDER else each
        for each in decided
    ]
    moves = [move for each in states for move in _done(move_away(each, {1}, assume_reordered=True))]
    stays = sum(each.status is not MoveStatus.MOVED for each in moves)
    answer = {"brokers": [1], "verdict": "no" if stays else "yes", "led": [{"broker_id": 1, "partitions": stays}]}
    reason = {
        "kind": "no_leader",
        "brokers": [1],
        "text": f"{stays} partitions would have no leader",
        "remedy": "Bring their other replicas in sync first",
    }
    stop = {"verdict": answer["verdict"], "stops": [answer], "reasons": [reason] if stays else []}
    return _shown(orders, moves, ([], [1]), stop)


def restored(count: int) -> str:
    """Return what the restore after this drain prints."""
    orders, moves = [], list[Move]()
    for state in _states(count):
        drain = decide(state, None, {1})
        order = drain.outcome.replicas_after or ()
        now = state._replace(replicas=order, leader_id=order[0])
        outcome = decide(now, drain.remember, ()).outcome
        is_back = outcome.status is OrderStatus.WOULD_RESTORE
        orders.append(replace(outcome, status=OrderStatus.RESTORED) if is_back else outcome)
        moves += _done(move_to(now, {1}, state.replicas))
    return _shown(orders, moves, ([1], []), {})


@pytest.mark.parametrize("count", _SIZES)
@pytest.mark.parametrize("run", [drained, restored])
def test_the_text_is_the_approved_one_and_fits_a_terminal(run: Any, count: int) -> None:
    text = run(count)
    approve(f"{run.__name__}-{count}-{_COLUMNS}", text)
    lines = text.splitlines()
    assert max(map(len, lines)) <= _COLUMNS
    assert len(lines) <= _SCREEN_LINES
