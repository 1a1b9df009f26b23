# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A leader that came back with fewer records: who followed it lacks the rest, and another replica may hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.promise import Obstacle, explain_promise
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.proof import judge_promise
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.reading import HistoryQuestion
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    BrokerMoment,
    ConfigMoment,
    PartitionMoment,
)
from unit.history.test_promise import (
    ALONE,
    CREATED,
    LOST,
    OF_TOPIC,
    ORDERS,
    OUTAGE,
    STARTED,
    history,
    moment,
    obstacle,
    restart,
)

BACK = ALONE + 50
"""When the last leader, which was alone in the ISR, leads again."""
AGAIN = (*OUTAGE[:3], moment(ALONE + 10, -1, 1), moment(BACK, 1, 1), moment(LOST, -1, 1))
"""The outage, but the last leader restarted after the others had left."""
DIED, RETURNED = CREATED + 200_500, CREATED + 300_000
LOST_ITS_TAIL = (
    moment(CREATED, 1, 1, 2, 3),
    moment(CREATED + 100_000, 1, 1, 2),
    moment(CREATED + 200_000, 1, 1),
    moment(DIED, -1, 1),
    moment(RETURNED, 1, 1),
    moment(CREATED + 400_000, 1, 1, 3),
    moment(ALONE, 1, 1),
    moment(LOST, -1, 1),
)
"""1 and 2 acknowledged what 3 did not hold. Then both died, only 1 came back, and 3 followed it."""


@pytest.mark.parametrize(
    ("brokers", "expected"),
    [
        pytest.param(restart(BACK - 1, clean=True), None, id="the same disk"),
        pytest.param(
            restart(BACK - 1, clean=True, directories=("new",)), Obstacle.LEADER_DISK_REPLACED, id="another disk"
        ),
        pytest.param(
            restart(BACK - 1, clean=True)[len(STARTED) :],
            Obstacle.LEADER_DISK_UNKNOWN,
            id="its earlier start was not read",
        ),
        pytest.param(
            restart(BACK - 1, clean=False, directories=("new",)),
            Obstacle.LEADER_DISK_REPLACED,
            id="another disk, after an unclean stop",
        ),
        pytest.param(restart(LOST + 9, clean=True, directories=("new",)), None, id="another disk, and no leader since"),
    ],
)
def test_the_disk_of_a_leader_that_came_back_counts(brokers: Sequence[BrokerMoment], expected: Obstacle | None) -> None:
    promise = judge_promise(history(*AGAIN, brokers={1: brokers}), ORDERS, 3, is_empty=False)
    assert promise.obstacle is expected
    assert promise.keeps_its_log is (expected is None), "it may have copied an empty log"


def test_the_log_is_read_back_to_the_start_of_a_leader_before_its_restart() -> None:
    question = HistoryQuestion({}, {ORDERS: (3,)}, ())
    restarted = restart(BACK - 1, clean=True)
    assert question.is_answered(history(*AGAIN, brokers={1: restarted}))
    assert not question.is_answered(history(*AGAIN, brokers={1: restarted[len(STARTED) :]}))


@pytest.mark.parametrize(
    "brokers",
    [
        pytest.param(restart(RETURNED - 1, clean=False), id="an unclean stop"),
        pytest.param(restart(RETURNED - 1, clean=True, directories=("new",)), id="another disk"),
    ],
)
def test_a_leader_that_lost_records_before_the_replica_followed_it_counts(brokers: Sequence[BrokerMoment]) -> None:
    promise = judge_promise(history(*LOST_ITS_TAIL, brokers={1: brokers}), ORDERS, 3, is_empty=False)
    assert (promise.obstacle, promise.other, promise.at_ms) == (Obstacle.EARLIER_RESTART, 1, RETURNED - 1)
    assert explain_promise(promise).startswith("earlier, broker 1 stayed in the ISR while it restarted")


def test_a_leader_that_was_shut_down_before_the_replica_followed_it_is_a_condition() -> None:
    found = history(*LOST_ITS_TAIL, brokers={1: restart(RETURNED - 1, clean=True)})
    promise = judge_promise(found, ORDERS, 3, is_empty=False)
    assert (promise.is_kept, promise.restarted) == (True, (1,))


def test_a_leader_that_was_killed_before_the_replica_followed_it_counts_by_its_host() -> None:
    killed = history(*LOST_ITS_TAIL, brokers={1: restart(RETURNED - 1, clean=False)})
    promise = judge_promise(replace(killed, host_boots={1: 1}), ORDERS, 3, is_empty=False)
    assert (promise.is_kept, promise.killed) == (True, (1,))


def test_what_a_leader_lost_does_not_matter_once_every_replica_followed_it() -> None:
    all_again = (*LOST_ITS_TAIL[:6], moment(ALONE - 10, 1, 1, 2, 3), moment(ALONE - 5, 1, 1, 3), *LOST_ITS_TAIL[6:])
    assert obstacle(history(*all_again, brokers={1: restart(RETURNED - 1, clean=False)})) is None


def test_a_member_of_the_isr_that_had_not_left_it_yet_did_not_follow_the_leader() -> None:
    """2 died with 1, and was fenced only after 1 was back."""
    late = (
        moment(CREATED + 100_000, 1, 1, 2),
        moment(DIED, -1, 1, 2),
        moment(RETURNED, 1, 1, 2),
        moment(RETURNED + 5, 1, 1),
    )
    found = history(LOST_ITS_TAIL[0], *late, *LOST_ITS_TAIL[5:], brokers={1: restart(RETURNED - 1, clean=False)})
    assert obstacle(found) is Obstacle.EARLIER_RESTART


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(
            (moment(CREATED + 10, 2, 2, 3), moment(CREATED + 50, 2, 1, 2, 3), moment(CREATED + 60, 1, 1, 2, 3)),
            id="it left the ISR and followed",
        ),
        pytest.param(
            (moment(CREATED + 10, 2, 1, 2, 3), moment(CREATED + 400_000, 1, 1, 2, 3)), id="it followed for long"
        ),
    ],
)
def test_a_broker_that_followed_another_leader_first_holds_what_that_one_held(
    moments: Sequence[PartitionMoment],
) -> None:
    found = history(OUTAGE[0], *moments, *OUTAGE[1:], brokers={1: restart(CREATED + 30, clean=False)})
    assert obstacle(found) is None


def test_a_leader_that_restarted_too_quickly_to_be_fenced_counts() -> None:
    """3.9.0 left it in the ISR, and made it the leader again soon."""
    moments = (OUTAGE[0], moment(CREATED + 10, 2, 1, 2, 3), moment(CREATED + 30_000, 1, 1, 2, 3), *OUTAGE[1:])
    found = history(*moments, brokers={1: restart(CREATED + 30, clean=False)})
    assert obstacle(found) is Obstacle.EARLIER_RESTART


def test_a_later_leader_that_followed_another_one_first_holds_what_that_one_held() -> None:
    """3 left first. Then 1 was killed, and followed 2 before it led again: without 3, nothing was acknowledged."""
    three = {OF_TOPIC: (ConfigMoment(CREATED, "3"),)}
    moments = (
        OUTAGE[0],
        moment(ALONE, 1, 1, 2),
        moment(ALONE + 10, 2, 2),
        moment(BACK, 2, 1, 2),
        moment(BACK + 9, 1, 1, 2),
    )
    brokers = {1: restart(BACK - 1, clean=False)}
    assert obstacle(history(*moments, moment(LOST, -1, 1), configs=three, brokers=brokers)) is None


def test_the_first_start_of_a_broker_has_nothing_to_lose() -> None:
    found = history(*LOST_ITS_TAIL, brokers={1: restart(RETURNED - 1, clean=False)[len(STARTED) :]})
    assert obstacle(found) is None
    assert obstacle(replace(found, begins_at_start=False)) is Obstacle.EARLIER_RESTART
