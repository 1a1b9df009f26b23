# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The writes, and the outcome of each partition, for each file in scenarios/apply (see scenarios/README.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import ReplicaLog, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Candidate
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import LeftAlone, Plan, PlannedElection
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from unit.fakes.clock import FakeClock
from unit.fakes.cluster import FakeCluster
from unit.fakes.fates import Fate
from unit.fakes.journals import CLUSTER_ID
from unit.fakes.wreck import Wreck
from unit.recovery.scenario import ranked_answers, read_log
from unit.recovery.wreckage import an_offline_partition

DIRECTORY = Path(__file__).parent / "scenarios" / "apply"
SCENARIOS = sorted(DIRECTORY.glob("*.yml"))
KEYS = {
    "check_mode",
    "attempts",
    "timeout_ms",
    "faults",
    "requests",
    "outcomes",
    "reasons",
    "leaders",
    "reported_leaders",
    "seconds_at_most",
}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_runs(path: Path, tmp_path: Path) -> None:
    scenario = yaml.safe_load(path.read_text(encoding="utf-8"))
    cluster = _cluster(scenario, str(tmp_path / "journal"))
    wreck = Wreck(cluster)
    before = {partition: state.replicas for partition, state in cluster.states.items()}
    for partition, change in scenario.get("leave_changed_orders", {}).items():
        wreck.journal(str(partition), **change)
    plan = _plan(scenario, cluster)
    _happen(cluster, scenario.get("since_plan", {}))
    for run in scenario["runs"]:
        assert run.keys() <= KEYS
        cluster.writes.clear()
        cluster.fates = {
            kind: [_fate(cluster, each) for each in fates] for kind, fates in run.get("faults", {}).items()
        }
        options = {key: run[key] for key in ("attempts", "check_mode", "timeout_ms") if key in run}
        sent = len(cluster.run_topic.sent)
        report = wreck.run(plan, **options)
        if run.get("check_mode"):
            assert len(cluster.run_topic.sent) == sent
            assert report.is_changed == ("would_recover" in run["outcomes"].values())
        elif not run["requests"]:
            assert not report.is_changed
        assert [str(each) for each in cluster.writes] == run["requests"]
        assert cluster.clock.monotonic() <= run.get("seconds_at_most", math.inf)
        assert {str(each.topic_partition): each.status.value for each in report.outcomes} == run["outcomes"]
        assert {str(each): state.leader_id for each, state in cluster.states.items()} == run["leaders"]
        for outcome in report.outcomes:
            name = str(outcome.topic_partition)
            assert run.get("reasons", {}).get(name, "") in outcome.reason
            if not run.get("check_mode"):
                assert outcome.leader_after == run.get("reported_leaders", run["leaders"])[name]
    left = {str(each): list(state.replicas) for each, state in cluster.states.items() if state.replicas != before[each]}
    assert left == scenario.get("orders_afterwards", {})
    assert [str(each.topic_partition) for each in wreck.unfinished()] == scenario.get("journal_afterwards", [])


def test_every_file_is_a_scenario() -> None:
    assert len(SCENARIOS) == len(list(DIRECTORY.iterdir())) > 0


def _cluster(scenario: Mapping[str, Any], journal: str) -> FakeCluster:
    brokers: Mapping[int, str] = scenario["brokers"]
    states, logs = {}, {}
    for name, each in scenario["partitions"].items():
        topic, _dash, number = name.rpartition("-")
        state = an_offline_partition(**each["state"], partition=int(number), topic=topic)
        states[state.topic_partition] = state
        candidates, _silent = ranked_answers(state, each["replicas"])
        later = [read_log(broker_id, log) for broker_id, log in each.get("meanwhile", {}).items()]
        for candidate in (*candidates, *later):
            logs[candidate.broker_id, state.topic_partition] = _log(state.topic_partition, candidate)
    cluster = FakeCluster(
        states,
        unfenced={broker_id for broker_id, what in brokers.items() if what in ("live", "shutting down")},
        registered={broker_id for broker_id, what in brokers.items() if what != "unregistered"},
        logs=logs,
        shutting_down={broker_id for broker_id, what in brokers.items() if what == "shutting down"},
        fenced_but_alive={broker_id for broker_id, what in brokers.items() if what == "fenced but alive"},
    )
    cluster.clock = FakeClock()
    return cluster


def _log(partition: TopicPartition, candidate: Candidate) -> ReplicaLog:
    return ReplicaLog(
        partition.topic,
        partition.partition,
        candidate.broker_id,
        candidate.log_start_offset,
        candidate.log_end_offset,
        None,
        candidate.last_written_epoch,
        candidate.lineage,
    )


def _plan(scenario: Mapping[str, Any], cluster: FakeCluster) -> Plan:
    policy = scenario.get("policy", {"strategy": "aggressive"})
    decisions = []
    for state in cluster.describe_partitions().partitions:
        candidates, silent = ranked_answers(state, scenario["partitions"][str(state.topic_partition)]["replicas"])
        terms = Policy(Strategy(policy["strategy"]), policy.get("max_lost_records"))
        decisions.append(decide(state, candidates, silent, terms))
    return Plan(
        CLUSTER_ID,
        "2026-01-31T23:59:59Z",
        tuple(each for each in decisions if isinstance(each, PlannedElection)),
        tuple(each for each in decisions if isinstance(each, LeftAlone)),
    )


def _fate(cluster: FakeCluster, fate: Mapping[str, Any]) -> Fate:
    events: dict[str, Callable[[], None]] = {
        moment: partial(_happen, cluster, fate[moment]) for moment in ("before", "after") if moment in fate
    }
    return Fate(**{**fate, **events})


def _happen(cluster: FakeCluster, event: Mapping[str, Any]) -> None:
    for what, value in event.items():
        match what:
            case "fence":
                cluster.kill(value)
            case "unfence":
                cluster.revive(value)
            case "register":
                cluster.registered.add(value)
                cluster.revive(value)
            case "change":
                for partition in cluster.states:
                    changes = value.get(str(partition), {})
                    cluster.change(partition, **{k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()})
            case _:
                raise AssertionError(f"no such event: {what}")
