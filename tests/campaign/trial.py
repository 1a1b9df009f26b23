# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One trial: an incident, one fault, runs until all is recovered, and a check by an independent oracle."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError, NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import write_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.waiting import WaitLimits
from campaign.clients.watch import ReplayRefusedError, Watch, clients_of
from campaign.incident import PARTITIONS, TOPIC, WATCHED, cause, choose_replicas, produce_load
from campaign.kinds import Kind
from campaign.scene import Scene
from campaign.verdict import Verdict
from integration.on_call import OnCall
from integration.strategies.logs_on_disk import end_of
from integration.strategies.outages import records_left
from lab import Cluster, process, wait_until
from lab.client import PartitionState
from lab.health import heal
from lab.module_process import start_module
from lab.node import NodeError
from lab.pool import Specification

CAMPAIGN: Specification[Cluster] = Specification(
    "campaign",
    lambda version: Cluster(
        version,
        brokers=4,
        controllers=3,
        log_dirs=2,
        listeners=("PLAINTEXT", "SASL_PLAINTEXT"),
        proxied=True,
        # Clients have them created for every trial.
        properties={
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.num.partitions": 1,
            "share.coordinator.state.topic.num.partitions": 1,
            # A transaction that an election left open counts as hanging only after that: 15 minutes by default.
            "transaction.max.timeout.ms": 30_000,
            # A producer that was replaced after a fatal error asks for its topic until it is freed: it would have it
            # created again after the trial.
            "auto.create.topics.enable": "false",
        },
    ),
    heal,
)
"""One broker has no replica, the quorum survives the loss of a controller, and a broker the loss of a disk."""
_RUN_TOPIC = "_kafkaops_run"
_MOST_RUNS = 5
_EVERY_FOURTH = 4
_WAIT_MS = 15_000
_MOST_NOTES = 10
_LIMIT_S = 150.0
"""The limit of one run of the elections: 30 s to verify, three attempts, and the quorum check."""


class End(Enum):
    """The end of a run."""

    ENDED = auto()
    KILLED = auto()
    STOPPED = auto()
    """Stopped by SIGSTOP: it may continue."""
    STILL_RUNNING = auto()


def run_trial(cluster: Cluster, kind: Kind, seed: int, directory: Path, *, replays: bool = True) -> Verdict:
    """Run one trial on a healthy cluster. Trials with an odd seed have a second run that competes for the lock.

    Every fourth seed has Kafka's own clients, and a share group.

    With ``replays``, the records of the dead leader are replayed in the end, and the clients judged once more.
    """
    rng = random.Random(f"{kind.name}, seed {seed}")
    verdict = Verdict(kind.name, seed)
    began = time.monotonic()
    try:
        replicas = choose_replicas(cluster, rng)
        others = directory if seed % _EVERY_FOURTH == 0 else None
        with produce_load(cluster), clients_of(cluster, replicas, others) as clients:
            scene = Scene(cause(cluster, rng, replicas))
            cluster.proxy.clear()
            on_call = OnCall(cluster, directory, duration_ms=_WAIT_MS)
            watch = Watch(clients, scene.incident)
            Trial(scene, on_call, verdict, watch, has_competitor=seed % 2 == 1, replays=replays).go(kind)
    except (NodeError, TimeoutError, OSError, KafkaException) as error:
        verdict.not_judged = 1
        verdict.notes.append(f"{type(error).__name__}: {error}")
    verdict.seconds = time.monotonic() - began
    return verdict


@dataclass
class Trial:
    """The runs of one scene until all is recovered, and the check of each run."""

    scene: Scene
    on_call: OnCall
    verdict: Verdict
    watch: Watch
    has_competitor: bool
    replays: bool = True
    frozen: list[Run] = field(default_factory=list)
    runs: int = 0
    elected: dict[int, int] = field(default_factory=dict)
    """The leader of each partition by our last reported election. A fault can change the leader later."""

    def go(self, kind: Kind) -> None:
        kind.begin(self.scene)
        self._attempt()
        self.scene.end()
        while self.runs < _MOST_RUNS and self._is_anything_left():
            self._attempt()
        stopped, self.frozen = self.frozen, []
        for run in stopped:
            run.process.send_signal(signal.SIGCONT)
            self.judge_run(run)
        self.verdict.faults = self.scene.happened
        self._judge_cluster()
        if not self.verdict.not_recovered:
            self._judge_clients()

    def _judge_clients(self) -> None:
        """Judge what the clients saw. If the leader is still dead, replay its records, and judge once more."""
        scene, verdict = self.scene, self.verdict
        anomalies = self.watch.judge(is_unreported=bool(scene.killed) or verdict.over_limits > 0)
        for name, count in anomalies.counts().items():
            setattr(verdict, name, count)
        verdict.acknowledged, verdict.announced = self.watch.acknowledged, self.watch.excused
        verdict.group_reads = self.watch.group_reads
        verdict.notes += self.watch.clients.errors[:_MOST_NOTES]
        verdict.notes += [f"clients: {each}" for each in anomalies.texts()[:_MOST_NOTES]]
        has_returned = scene.cluster.brokers[scene.incident.dead].running
        if not self.replays or anomalies or (has_returned and not self.watch.hides_records):
            return
        verdict.replays = int(not has_returned)
        verdict.hidden = int(self.watch.hides_records)
        finish = self.watch.end_transactions if has_returned else self.watch.replay
        try:
            again = finish(self.on_call.directory)
        except ReplayRefusedError as error:
            verdict.replays_refused = 1
            verdict.notes.append(str(error))
            return
        verdict.anomalies_after_replay = sum(again.counts().values())
        verdict.notes += [f"clients, after the replay: {each}" for each in again.texts()[:_MOST_NOTES]]

    def _is_anything_left(self) -> bool:
        states = self.scene.cluster.client.describe(TOPIC, broker=self.scene.observer)
        return (
            any(each.leader is None for each in states.values())
            or any(each.leader is None for each in self._states_of_clients())
            or any(each.replicas != self.scene.incident.replicas for each in states.values())
            or bool(self.scene.cluster.client.describe(_RUN_TOPIC, broker=self.scene.observer))
        )

    def _states_of_clients(self) -> Iterable[PartitionState]:
        for topic in (WATCHED, *self.watch.of_clients):
            yield from self.scene.cluster.client.describe(topic, broker=self.scene.observer).values()

    def _attempt(self) -> None:
        self.runs += 1
        plan = self.on_call.directory / f"plan-{self.runs}.json"
        try:
            self._plan(plan)
        except KafkaOpsError as error:
            self.verdict.notes.append(f"run {self.runs}, plan: {error}")
            return
        except Exception as error:  # noqa: BLE001 - it is what the campaign counts
            self.verdict.tracebacks += 1
            self.verdict.notes.append(f"run {self.runs}, plan: {type(error).__name__}: {error}")
            return
        for action in self.scene.before_elections:
            action()
        self.scene.before_elections = []
        has_competitor = self.has_competitor and self.runs == 1
        runs = [self._start(plan, who) for who in ("one", "two")[: 1 + has_competitor]]
        self.scene.runs = [each.process for each in runs]
        for each in runs:
            self.judge_run(each)

    def _plan(self, path: Path) -> None:
        """Survey, wait, gather and rank, as the role does."""
        lost = frozenset({self.scene.incident.dead})
        if self.scene.cluster.brokers[self.scene.incident.dead].running:
            lost = frozenset()
        limits = WaitLimits(_WAIT_MS, 0, waits=True, lost=lost)
        waited = self.on_call.wait(Strategy.AGGRESSIVE, limits, NullProgress(), TOPIC, WATCHED, *self.watch.of_clients)
        # No replica of the clients' own topics may hold more: then an operator begins with an empty one.
        plan = self.on_call.plan_of(waited.survey, Strategy.AGGRESSIVE, may_be_empty=self.watch.of_clients)
        write_plan(plan, str(path))

    def _start(self, plan: Path, who: str) -> Run:
        return Run(
            {
                "bootstrap_servers": [self.scene.cluster.bootstrap()],
                "request_timeout_ms": self.on_call.request_timeout_ms,
                "plan_file": str(plan),
                "report_aftermath": False,
                **self.scene.connection,
            }
        )

    def judge_run(self, run: Run) -> None:
        """Wait for a run's end, and check every election that it reports."""
        end = run.wait(_LIMIT_S)
        if end is End.STOPPED:
            self.frozen.append(run)
            return
        if end is End.STILL_RUNNING:
            self.verdict.over_limits += 1
            self.verdict.notes.append(f"run {self.runs}: still running after {_LIMIT_S:g} s")
            run.process.kill()
            run.join()
        results = run.results() or {}
        statuses = Counter(each["status"] for each in results.get("partitions", ()))
        if [*statuses] != ["recovered"]:
            self.verdict.notes.append(f"run {self.runs} {end.name.lower().replace('_', ' ')}: {dict(statuses)}")
        is_excused = end is End.STILL_RUNNING or run.process.pid in self.scene.killed
        if not is_excused and (not results or "exception" in results or "Traceback" in run.errors):
            self.verdict.tracebacks += 1
            self.verdict.notes.append(f"run {self.runs}: {run.errors[-2000:]}")
        if results.get("failed"):
            self.verdict.notes.append(f"run {self.runs}: {results.get('msg')}")
        for each in results.get("partitions", ()):
            if each["status"] == "recovered":
                if each["topic"] == TOPIC:
                    self.judge_election(each)
                self.watch.note_election(each)

    def judge_election(self, outcome: Mapping[str, Any]) -> None:
        """Compare an election and its forecast with the content of the disks before it."""
        incident, number, leader = self.scene.incident, int(outcome["partition"]), int(outcome["leader_after"])
        self.verdict.elections += 1
        logs = incident.logs[number]
        reachable = self.scene.electable(number) or {leader}
        self.elected[number] = leader
        best = incident.best_end(number, reachable)
        if end_of(logs[leader]) < best:
            self.verdict.wrong_elections += 1
            fewest = min(incident.lost_by(each, number) for each in reachable if end_of(logs[each]) == best)
            self.verdict.records_lost += max(0, incident.lost_by(leader, number) - fewest)
            self.verdict.notes.append(f"partition {number}: broker {leader} was elected: {outcome['reason']}")
        loss = next((each for each in outcome["losses"] if each["broker_id"] == leader), None)
        true = incident.lost_by(leader, number)
        at_most = loss["at_most"] if loss else None
        self.verdict.unknown_forecasts += at_most is None
        if loss and not (loss["at_least"] <= true and (at_most is None or true <= at_most)):
            self.verdict.outside_forecast += 1
            self.verdict.notes.append(f"partition {number}: {true} lost, forecast {loss['at_least']} to {at_most}")

    def _judge_cluster(self) -> None:
        """Check the final state with another client."""
        incident, client = self.scene.incident, self.scene.cluster.client
        states = client.describe(TOPIC, broker=self.scene.observer)
        changed = {number: each.replicas for number, each in states.items() if each.replicas != incident.replicas}
        if changed:
            self.verdict.changed_orders += len(changed)
            self.verdict.notes.append(f"orders of partitions: {changed}, not {incident.replicas}")
        self.verdict.not_recovered += sum(
            each.leader is None for each in (*states.values(), *self._states_of_clients())
        )
        with suppress(TimeoutError):
            wait_until(lambda: not client.describe(_RUN_TOPIC, broker=self.scene.observer), 10)
        self.verdict.left_behind += bool(client.describe(_RUN_TOPIC, broker=self.scene.observer))
        if self.verdict.not_recovered or self.scene.is_topic_replaced:
            return
        left = wait_until(self._records_left, 60, what="a consumer reads every partition") or {}
        for number, state in states.items():
            assert state.leader is not None
            self.judge_records(number, self.may_have_led(number, state.leader), left[number])

    def may_have_led(self, number: int, leader: int) -> set[int]:
        """Return the replicas of which one was elected first. The leader of now may have followed that one.

        Where a run died before it could report its election, that has to be one of the best that could be reached, or
        a better one, which the fault kept from answering only later.
        """
        incident = self.scene.incident
        if number in self.elected:
            return {self.elected[number]}
        if self.scene.has_other_elections or not self.scene.electable(number):
            return {leader}
        best = incident.best_end(number, self.scene.electable(number))
        return {each for each in (incident.best, incident.other) if end_of(incident.logs[number][each]) >= best}

    def _records_left(self) -> dict[int, list[str]] | None:
        """Return the records that a consumer reads; None while it does not know the leaders yet."""
        with suppress(KafkaException):
            return records_left(self.scene.cluster, TOPIC, range(PARTITIONS))
        return None

    def judge_records(self, number: int, leaders: Iterable[int], left: Iterable[str]) -> None:
        """Compare the records that a consumer reads with the disk of the elected leader, which is one of these."""
        logs, found = self.scene.incident.logs[number], set(left)
        missing = min(({each.value for each in logs[leader]} - found for leader in leaders), key=len)
        if missing:
            self.verdict.records_lost += len(missing)
            self.verdict.notes.append(f"partition {number}: {len(missing)} records of its leader are gone")


class Run(threading.Thread):
    """The module designated_election in its own process, and its output."""

    def __init__(self, options: Mapping[str, object]) -> None:
        super().__init__(daemon=True)
        self.process = start_module("designated_election", options)
        self._output = ""
        self.errors = ""
        self.start()

    def run(self) -> None:
        self._output, self.errors = self.process.communicate()

    def wait(self, limit_s: float) -> End:
        """Return its end, or that it is stopped or still running."""
        deadline = time.monotonic() + limit_s
        while self.is_alive():
            if process.is_stopped(self.process) and self.is_alive():
                return End.STOPPED
            if time.monotonic() >= deadline:
                return End.STILL_RUNNING
            self.join(0.2)
        return End.KILLED if self.process.returncode < 0 else End.ENDED

    def results(self) -> dict[str, Any] | None:
        """Return the module's results; None if it returned none."""
        with suppress(ValueError):
            found: dict[str, Any] = json.loads(self._output)
            return found
        return None
