# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Watch a trial with clients: a topic with the replicas of the incident, and a judgment of what its clients saw."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from campaign.clients.history import Partition, Truth
from campaign.clients.judge import Anomalies, is_acknowledged, is_behind_open_transaction, judge
from campaign.clients.real import Clients
from campaign.clients.share import ShareMember, has_share_groups
from campaign.clients.verifiable import Verifiable
from campaign.incident import WATCHED, WATCHED_PARTITIONS, Incident
from lab import Cluster, scenarios
from lab.module_process import run_module

_OF_CLIENTS = ("__consumer_offsets", "__transaction_state")
_OF_SHARE_GROUPS = "__share_group_state"
_ENDED = ("committed", "aborted")
_OLD_S, _PAUSE_S = 120.0, 5.0
"""Transactions are older than transaction.max.timeout.ms of the campaign's clusters by then."""
_PARTITIONS: Sequence[Partition] = tuple((WATCHED, number) for number in range(WATCHED_PARTITIONS))


class ReplayRefusedError(Exception):
    """A salvage or a replay ended with an error. The message is the module's."""


@contextmanager
def clients_of(cluster: Cluster, replicas: Sequence[int], others: Path | None = None) -> Iterator[Clients]:
    """Create the topic, and run clients on it.

    With a directory for their output, these are Kafka's own clients, too, and a share group if the version has any.
    """
    # A leader whose clock is behind refuses records of clients whose clocks are right.
    config = {"min.insync.replicas": 1, "message.timestamp.after.max.ms": 2**63 - 1}
    cluster.client.create_topic(WATCHED, dict.fromkeys(range(WATCHED_PARTITIONS), replicas), config)
    scenarios.wait_isr(cluster, WATCHED, set(replicas), seen_by=replicas[0])
    with ExitStack() as stack:
        clients = Clients(cluster, _PARTITIONS)
        if others is not None:
            clients.verifiable = stack.enter_context(Verifiable(cluster, WATCHED, others))
            if has_share_groups(cluster.version):
                clients.share = stack.enter_context(ShareMember(cluster, clients.config(), WATCHED))
        yield stack.enter_context(clients)


@dataclass
class Watch:
    """The clients of a trial, and the elections of their partitions."""

    clients: Clients
    incident: Incident
    elected: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The leaders of each partition by our reported elections."""
    others_elected: set[str] = field(default_factory=set)
    """Those of the topics that the clients need of which we elected a partition."""
    _truth: Truth = field(default_factory=Truth)

    @property
    def of_clients(self) -> tuple[str, ...]:
        """Return the topics that the clients need, and that a recovery recovers, too."""
        return (*_OF_CLIENTS, _OF_SHARE_GROUPS) if self.clients.share is not None else _OF_CLIENTS

    def note_election(self, outcome: Mapping[str, Any]) -> None:
        """Note an election of a run if it is one of these partitions, or of a topic that the clients need."""
        if outcome["topic"] == WATCHED:
            self.elected[int(outcome["partition"])].append(int(outcome["leader_after"]))
        elif outcome["topic"] in self.of_clients:
            self.others_elected.add(outcome["topic"])

    def judge(self, *, is_unreported: bool) -> Anomalies:
        """Let the clients end, and judge what they saw. ``is_unreported``: a run may have elected without a report."""
        self.clients.stop_writing()
        self.clients.look_at_end()
        self._truth = self._find_truth(is_unreported=is_unreported)
        return judge(self.clients.history, self._truth)

    @property
    def hides_records(self) -> bool:
        """Return whether records are behind a transaction that lost its marker by the election, and stays open."""
        history = self.clients.history
        return any(is_behind_open_transaction(history, each) for each in history.writes)

    def end_transactions(self, directory: Path, **saved: object) -> Anomalies:
        """End the transactions that the election left open, as an operator does, and judge again: nothing is hidden.

        Raises ReplayRefusedError.
        """
        options = {
            "bootstrap_servers": [self.incident.cluster.bootstrap()],
            "apply": True,
            "abort_hanging_transactions": True,
            "undo_file": str(directory / "undo.csv"),
            **saved,
        }
        deadline = time.monotonic() + _OLD_S
        while True:
            result = run_module("group_recovery", options)
            open_ones = [each for each in result.get("transactions", ()) if each["status"] not in _ENDED]
            if not open_ones and "msg" not in result:
                break
            if time.monotonic() >= deadline:
                raise ReplayRefusedError(f"group_recovery: {result.get('msg')}; {open_ones}")
            time.sleep(_PAUSE_S)
        self.clients.look_at_end()
        # It gave groups other offsets than those that they committed.
        self._truth = replace(self._truth, hides=False, commits_lost=True)
        return judge(self.clients.history, self._truth)

    @property
    def acknowledged(self) -> int:
        """Return the number of records that producers were promised to stay."""
        history = self.clients.history
        return sum(is_acknowledged(history, each) for each in history.writes)

    @property
    def excused(self) -> int:
        """Return how many of these the elected replicas did not hold, by the disks."""
        history = self.clients.history
        there = self._values_left()
        return sum(is_acknowledged(history, each) and each.value not in there for each in history.writes)

    @property
    def group_reads(self) -> int:
        """Return how many records the members of groups got, in the fewest of these groups."""
        return min((len(each.reads) for each in self.clients.history.readers if each.may_repeat), default=0)

    def replay(self, directory: Path) -> Anomalies:
        """Save the dead leader's disk, replay what it alone held, and judge again: no loss is excused any more.

        A replay leaves out records whose transaction has no marker on the disk. A producer that got no answer before
        the outage has sent its record again since: such a record is there twice.

        Raises ReplayRefusedError.
        """
        history = self.clients.history
        saved = str(directory / "saved")
        disks = [str(each) for each in self.incident.cluster.brokers[self.incident.dead].data_dirs]
        before = self._values_left()
        self._run("replica_log_salvage", salvage_dir=saved, log_dirs=disks, topics=[WATCHED])
        if self.hides_records:
            self.end_transactions(directory, salvage_dir=[saved])
        self._run("salvage_replay", salvage_dir=saved, target="original")
        self.clients.look_at_end()
        # What a killed run elected is not known. What is there only since the replay was lost, too.
        lost = {value for values in self._truth.lost.values() for value in values} | (self._values_left() - before)
        sent_again = lost & before
        history.writes = [
            replace(each, offset=None, may_repeat=each.may_repeat or each.value in sent_again)
            if each.value in lost
            else each
            for each in history.writes
        ]
        undecided = {
            partition: self._truth.undecided.get(partition, frozenset())
            | self.incident.watched_undecided[partition[1]][self.incident.dead]
            for partition in _PARTITIONS
        }
        truncated = frozenset(partition for partition, values in self._truth.lost.items() if values)
        given_back = replace(self._truth, lost={}, undecided=undecided, truncated=truncated, hides=False)
        return judge(history, given_back)

    def _values_left(self) -> set[str]:
        return {each.value for reads in self.clients.history.left.values() for each in reads}

    def _run(self, name: str, **options: object) -> None:
        result = run_module(name, {"bootstrap_servers": [self.incident.cluster.bootstrap()], **options})
        if "msg" in result:
            raise ReplayRefusedError(f"{name}: {result['msg']}")

    def _find_truth(self, *, is_unreported: bool) -> Truth:
        lost: dict[Partition, frozenset[str]] = {}
        undecided: dict[Partition, frozenset[str]] = {}
        unknown: set[Partition] = set()
        for partition in _PARTITIONS:
            leaders, logs = self.elected[partition[1]], self.incident.watched_logs[partition[1]]
            if len(leaders) > 1 or (not leaders and is_unreported):
                unknown.add(partition)
            for leader in leaders[:1]:
                held = {each.value for each in logs[leader]}
                lost[partition] = frozenset(each.value for log in logs.values() for each in log) - held
                undecided[partition] = self.incident.watched_undecided[partition[1]][leader]
        offsets, transactions, shares = (
            each in self.others_elected or is_unreported for each in (*_OF_CLIENTS, _OF_SHARE_GROUPS)
        )
        return Truth(
            lost,
            undecided,
            hides=True,
            unknown=frozenset(unknown),
            commits_lost=offsets,
            outcomes_lost=transactions,
            shares_lost=shares,
        )
