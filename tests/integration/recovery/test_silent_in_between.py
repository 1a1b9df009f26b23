# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker says what it holds, freezes, and is asked for its batches: it is silent, and a later run counts it again."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.header_reading import BatchAnswers, Questions
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import OnThisHost
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.pipeline import gather_evidence, plan_recovery
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.reused_epochs import ask_candidates
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from integration.on_call import OnCall
from lab import Cluster
from lab.scenarios import longer_log_of_older_epoch

_TOPIC = "tails"


@pytest.mark.wide
def test_a_broker_that_freezes_before_it_is_asked_for_its_batches_is_silent(cluster: Cluster, tmp_path: Path) -> None:
    offline = longer_log_of_older_epoch(cluster, _TOPIC, 2, records=(10, 50, 5))
    _dead, older, newer = offline.replicas
    on_call = OnCall(cluster, tmp_path, request_timeout_ms=3000)
    found = on_call.look(_TOPIC)
    evidence, notes = gather_evidence(OnThisHost(), on_call.settings, found, on_call.duration_ms)
    assert notes == ()
    ask = partial(ask_candidates, on_call.settings, found.cluster_id, found.brokers)

    def freeze_and_ask(questions: Questions) -> BatchAnswers:
        cluster.brokers[newer].freeze()
        return ask(questions)

    def silent_and_leaders(plan: Plan) -> set[tuple[int, tuple[tuple[int, Cause], ...]]]:
        return {
            (each.designated_leader, tuple((one.broker_id, one.cause) for one in each.silent if one.broker_id == newer))
            for each in plan.elections
        }

    plan = partial(plan_recovery, OnThisHost(), evidence, {_TOPIC: Policy(Strategy.AGGRESSIVE)})
    try:
        assert silent_and_leaders(plan(ask=freeze_and_ask)) == {(older, ((newer, Cause.HUNG),))}
    finally:
        cluster.brokers[newer].thaw()
    assert silent_and_leaders(plan(ask=ask)) == {(newer, ())}
