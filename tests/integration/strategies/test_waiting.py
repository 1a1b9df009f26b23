# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brokers that return during a run are asked, and the run does not wait for permanently lost brokers."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.waiting import WaitLimits
from integration.on_call import OnCall, Steps
from lab import Cluster, scenarios, wait_until

_COMMON, _LONGER, _LOST = 10, 5, 1


def test_the_longest_log_that_returns_late_is_elected_and_the_lost_broker_given_up(
    cluster: Cluster, on_call: OnCall
) -> None:
    offline = scenarios.diverged(cluster, "late", records=(_COMMON, _LONGER, _LOST))
    dead, shorter, longer = offline.replicas
    cluster.brokers[longer].freeze()
    wait_until(
        lambda: longer in cluster.client.describe("late", broker=shorter)[0].offline_replicas,
        60,
        what=f"broker {longer} is fenced",
    )
    # A run that only reads does not wait, and names the brokers that it would wait for.
    only_looks = WaitLimits(60_000, 0, waits=False)
    looked = on_call.wait(Strategy.AGGRESSIVE, only_looks, Steps(), "late")
    assert {each.broker_id for each in looked.awaited} == {dead, longer}
    assert {(each.limit_ms, each.waited_ms) for each in looked.awaited} == {(60_000, None)}
    (election,) = on_call.plan_of(looked.survey, Strategy.AGGRESSIVE).elections
    assert election.designated_leader == shorter, "nobody else can be elected now"

    steps = Steps()
    limits = WaitLimits(60_000, 0, waits=True, lost=frozenset({dead}))
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(on_call.wait, Strategy.BALANCED, limits, steps, "late")
        # It has looked who is registered before the broker is: Kafka 3.9 does not list it while it is fenced.
        wait_until(
            # On a busy machine, a second may be skipped.
            lambda: any(
                f"waiting for broker {longer} " in each and re.search(r": ([3-9]|\d\d+) s so far", each)
                for each in steps.texts
            ),
            30,
            what="it has waited for a while",
        )
        cluster.brokers[longer].thaw()
        waited = run.result(timeout=60)
    # On a busy machine, the other survivor may be awaited for a moment, too.
    has_returned = {each.broker_id: each.has_returned for each in waited.awaited}
    assert has_returned.pop(longer)
    assert has_returned in ({}, {shorter: True})
    assert not any(f"broker {dead} " in each for each in steps.texts), "it was given up"
    plan = on_call.plan_of(waited.survey, Strategy.BALANCED)
    (election,) = plan.elections
    assert election.designated_leader == longer
    assert [(each.broker_id, each.cause) for each in election.silent] == [(dead, Cause.GIVEN_UP)]
    assert {each.status for each in on_call.carry_out(plan)} == {Status.RECOVERED}
    assert len(cluster.client.consume_all("late", 0)) == _COMMON + _LONGER


@pytest.mark.wide
def test_balanced_waits_until_the_controller_has_elected_the_last_leader(cluster: Cluster, on_call: OnCall) -> None:
    """Test KIP-966's unclean.recovery.timeout.ms: the time for other brokers ends much earlier."""
    offline = scenarios.diverged(cluster, "back", records=(_COMMON, _LONGER, _LOST))
    dead = offline.replicas[0]
    steps = Steps()
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(on_call.wait, Strategy.BALANCED, WaitLimits(1, 90_000, waits=True), steps, "back")
        wait_until(lambda: any(f"waiting for broker {dead} " in each for each in steps.texts), 30, what="it waits")
        cluster.brokers[dead].start()
        waited = run.result(timeout=90)
    assert waited.survey.offline == ()
    (online,) = waited.survey.left_alone
    assert (online.status, online.leader_id) == (Status.ALREADY_ONLINE, dead)
    assert [(each.broker_id, each.holds_back, each.has_returned) for each in waited.awaited] == [(dead, 1, True)]
    assert len(cluster.client.consume_all("back", 0)) == _COMMON + _LONGER + _LOST
