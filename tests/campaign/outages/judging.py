# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare what a plan says of an outage with the disks and with what producers know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from campaign.outages.script import OF_MIN_2, TOPICS, Outage
from campaign.outages.writers import Partition, Pattern
from integration.history.alone import controllers_at
from integration.strategies.logs_on_disk import times_on_disk
from lab import Cluster
from lab.module_process import run_module

_NOTICED_MS = 3_000 + 500
"""The lab's session timeout, and a heartbeat."""
_FEW = 5
"""An estimate that is off by so few records counts as right: a factor of two says nothing of three records."""


@dataclass
class Verdict:
    """The counts of one outage. ``broken_promises``, ``times_wrong`` and ``not_elected`` must be 0."""

    seed: int
    setting: str
    elections: int = 0
    """Partitions without a leader that the module gave one."""
    not_elected: int = 0
    claims: int = 0
    """Survivors of these partitions: each has its own answer, elected or not."""
    none_said: int = 0
    """Of the claims: no record that was acknowledged with acks=all is lost."""
    broken_promises: int = 0
    """Of these, how many are wrong, by the disks."""
    none_said_elected: int = 0
    none_true_min_2: int = 0
    """Elections that lost no such record, of topics whose min.insync.replicas was 2 all the time."""
    none_said_min_2: int = 0
    killed_min_2: int = 0
    """Of those that lost none and did not say so, the ones whose leader was killed and started again (SIGKILL)."""
    none_true_min_2_booted: int = 0
    """As none_true_min_2, of a plan that was told when this host booted. A replica may answer one of the two plans."""
    none_said_min_2_booted: int = 0
    times_judged: int = 0
    times_wrong: int = 0
    """Claims of which a record was lost that was written before the time that the election is said to give up."""
    lost_at_judged: int = 0
    lost_at_wrong: int = 0
    """Partitions whose leader was lost, they say, before it died, or more than a session and a heartbeat after."""
    estimates: int = 0
    """Elections of partitions that were written steadily, with an estimate."""
    estimates_right: int = 0
    """Of these, how many are within a factor of two, or five records."""
    not_judged: int = 0
    notes: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    seconds: float = 0.0
    commit: str = ""

    def __str__(self) -> str:
        said = f"none said {self.none_said} of {self.claims}"
        return f"{self.setting}, seed {self.seed}, {self.elections} elections, {said}"

    @property
    def is_clean(self) -> bool:
        return not (self.broken_promises or self.times_wrong or self.not_judged or self.not_elected)


@dataclass
class Judge:
    """Reads the disks, asks for a plan, elects, and compares."""

    outage: Outage
    verdict: Verdict
    directory: Path
    has_fail_over: bool = False

    @property
    def cluster(self) -> Cluster:
        return self.outage.cluster

    def judge(self) -> None:
        offline = self.outage.offline()
        if not offline:
            return
        states = {topic: self.cluster.client.describe(topic) for topic in TOPICS}
        disks = {
            (topic, number): {
                broker: times_on_disk(self.cluster, broker, topic, number) for broker in states[topic][number].replicas
            }
            for topic, number in offline
        }
        options = {
            "bootstrap_servers": [self.cluster.bootstrap()],
            "bootstrap_controllers": [controllers_at(self.cluster)],
            "partitions": [{"topic": topic, "partition": number} for topic, number in offline],
            "recovery_strategy": "aggressive",
            "recovery_duration_ms": 2_000,
            "engine": "process",
        }
        rows = _plan(options)
        told = _plan({**options, "host_boot_times": dict.fromkeys(map(str, self.cluster.brokers), _booted())})
        done = run_module(
            "unclean_recovery",
            {**options, "recovery_election_attempts": 3, "report_file": str(self.directory / "r.json")},
        )
        leaders = {
            topic: {n: each.leader for n, each in self.cluster.client.describe(topic).items()} for topic in TOPICS
        }
        for topic, number in offline:
            leader = leaders[topic][number]
            if leader is None:
                self.verdict.not_elected += 1
                status = [e for e in done.get("partitions", ()) if (e["topic"], e["partition"]) == (topic, number)]
                self.verdict.notes.append(f"{topic}-{number} has no leader: {status or done.get('msg')}")
                continue
            self.verdict.elections += 1
            self._judge_partition((topic, number), rows.get((topic, number), {}), disks[topic, number], leader)
            for loss in told.get((topic, number), {}).get("losses", ()):
                self._judge_told((topic, number), loss, disks[topic, number], is_elected=loss["broker_id"] == leader)
        self._read_again(disks, leaders)

    def _judge_partition(
        self, partition: Partition, row: Mapping[str, Any], disks: Mapping[int, Mapping[str, int]], leader: int
    ) -> None:
        history = row.get("history") or {}
        lost_at = _milliseconds(history.get("leader_lost_at"))
        self._judge_lost_at(partition, lost_at)
        if history.get("missing"):
            self.verdict.notes.append(f"{partition}: missing {history['missing']}")
        for loss in row.get("losses", ()):
            self.verdict.claims += 1
            self._judge_promise(partition, loss, disks, is_elected=loss["broker_id"] == leader)
            self._judge_time(partition, loss, lost_at, disks)
            if loss["broker_id"] == leader:
                self._judge_estimate(partition, loss, disks)

    def _judge_promise(
        self, partition: Partition, loss: Mapping[str, Any], disks: Mapping[int, Mapping[str, int]], *, is_elected: bool
    ) -> None:
        survivor, said = loss["broker_id"], loss["acks_all_lost"]
        missing = self._find_missing(partition, loss, disks)
        self.verdict.none_said += said == 0
        self.verdict.none_said_elected += said == 0 and is_elected
        if is_elected and not missing and partition[0] in OF_MIN_2:
            self.verdict.none_true_min_2 += 1
            self.verdict.none_said_min_2 += said == 0
            self.verdict.killed_min_2 += said != 0 and survivor in self.outage.restarted
            if said != 0:
                self.verdict.notes.append(f"{partition}: broker {survivor} lacks nothing, unproven: {loss['proof']}")

    def _judge_told(
        self, partition: Partition, loss: Mapping[str, Any], disks: Mapping[int, Mapping[str, int]], *, is_elected: bool
    ) -> None:
        missing = self._find_missing(partition, loss, disks)
        if is_elected and not missing and partition[0] in OF_MIN_2:
            self.verdict.none_true_min_2_booted += 1
            self.verdict.none_said_min_2_booted += loss["acks_all_lost"] == 0
            if loss["acks_all_lost"] != 0:
                self.verdict.notes.append(
                    f"{partition}: broker {loss['broker_id']} lacks nothing, unproven though the boot time is known: "
                    f"{loss['proof']}"
                )

    def _find_missing(
        self, partition: Partition, loss: Mapping[str, Any], disks: Mapping[int, Mapping[str, int]]
    ) -> set[str]:
        """Return the promised records that a survivor lacks. A broken promise is counted."""
        survivor, said = loss["broker_id"], loss["acks_all_lost"]
        exists = set().union(*disks.values())
        missing = (self.outage.acknowledged.get(partition, set()) & exists) - set(disks[survivor])
        if said is not None and len(missing) > said:
            self.verdict.broken_promises += 1
            self.verdict.notes.append(
                f"{partition}: broker {survivor} lacks {len(missing)} promised records, at most {said} by the proof: "
                f"{loss['proof']}; for example {sorted(missing)[:3]}"
            )
        return missing

    def _judge_time(
        self,
        partition: Partition,
        loss: Mapping[str, Any],
        lost_at: float | None,
        disks: Mapping[int, Mapping[str, int]],
    ) -> None:
        last, survivor = self.outage.leaving[-1], loss["broker_id"]
        if loss["lacks_seconds"] is None or lost_at is None:
            return
        self.verdict.times_judged += 1
        lacking = [at for value, at in disks[last].items() if value not in disks[survivor]]
        if lacking and min(lacking) < lost_at - loss["lacks_seconds"] * 1000:
            self.verdict.times_wrong += 1
            early = (lost_at - min(lacking)) / 1000
            self.verdict.notes.append(
                f"{partition}: broker {survivor} lacks a record that was written {early:.1f} s before the leader was "
                f"lost, and the plan says {loss['lacks_seconds']} s"
            )

    def _judge_lost_at(self, partition: Partition, lost_at: float | None) -> None:
        if lost_at is None:
            return
        self.verdict.lost_at_judged += 1
        begun, ended = self.outage.died_ms
        if not begun <= lost_at <= ended + _NOTICED_MS:
            self.verdict.lost_at_wrong += 1
            self.verdict.notes.append(f"{partition}: the leader died at {begun:.0f}, and was lost at {lost_at:.0f}")

    def _judge_estimate(
        self, partition: Partition, loss: Mapping[str, Any], disks: Mapping[int, Mapping[str, int]]
    ) -> None:
        estimate = loss["estimate"]
        if estimate is None or self.outage.patterns[partition] is not Pattern.STEADY:
            return
        lost = len(set(disks[self.outage.leaving[-1]]) - set(disks[loss["broker_id"]]))
        said = estimate["records"]
        self.verdict.estimates += 1
        if lost / 2 <= said <= lost * 2 or abs(lost - said) <= _FEW:
            self.verdict.estimates_right += 1
        else:
            held = disks[loss["broker_id"]].values()
            self.verdict.notes.append(
                f"{partition}: {lost} records are lost, the estimate is {said}: {estimate}; broker {loss['broker_id']} "
                f"holds {len(held)}, of {min(held, default=0)} to {max(held, default=0)}, in ms"
            )

    def _read_again(
        self,
        disks: Mapping[Partition, Mapping[int, Mapping[str, int]]],
        leaders: Mapping[str, Mapping[int, int | None]],
    ) -> None:
        """Read the disks of the new leaders again. A consumer reads nothing below min.insync.replicas."""
        for (topic, number), of in disks.items():
            leader = leaders[topic][number]
            if leader is None:
                continue
            gone = set(of[leader]) - set(times_on_disk(self.cluster, leader, topic, number))
            if gone:
                self.verdict.broken_promises += 1
                self.verdict.notes.append(f"{topic}-{number}: {len(gone)} records of its leader are gone")


def _plan(options: Mapping[str, Any]) -> dict[Partition, Mapping[str, Any]]:
    plan = run_module("leader_candidate_info", options)
    if "partitions" not in plan:
        raise RuntimeError(f"no plan: {plan}")
    return {(each["topic"], each["partition"]): each for each in plan["partitions"]}


def _booted() -> str:
    """Return when this host booted, on which all brokers of the lab run, by the clock as it is now."""
    since = next(
        line for line in Path("/proc/stat").read_text(encoding="utf-8").splitlines() if line.startswith("btime")
    )
    return datetime.fromtimestamp(int(since.split()[1]), UTC).isoformat()


def _milliseconds(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp() * 1000
