# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the ACLs that a run would lack, before it writes anything: all at once, with the commands that grant them."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from .._changes.run_state import RUN_TOPIC_RIGHTS
from .._kafka.acls import grant_command
from .._kafka.errors import BrokerCallError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import grouped
from .._model.run import KafkaOpsError
from .plan import CommitStep

_MARKS = frozenset({"ALTER", "CLUSTER_ACTION"})
"""One of these operations on the cluster allows to write transaction markers."""
_NOT_NEEDED = frozenset({"DELETE"})
"""Without it, the journal's topic stays, and the run says so."""


class GroupRightsError(KafkaOpsError):
    """Our principal lacks ACLs. The message has the commands that grant them."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """What our principal may not do."""

    groups: frozenset[str] = frozenset()
    """It may not commit for these."""
    topics: frozenset[str] = frozenset()
    """It may not commit for partitions of these."""
    cannot_end: bool = False
    """Whether it may not end transactions."""
    cannot_write: bool = False
    """Whether it may not use the journal, and so may not do anything."""
    commands: tuple[str, ...] = ()
    """How an administrator grants all of it."""

    def why_not(self, step: CommitStep) -> str:
        """Return why it may not carry out a step; empty if it may."""
        if step.group in self.groups:
            return "our principal needs READ on the group"
        return "our principal needs READ on the topic" if step.topic in self.topics else ""


def find_lacking(
    kafka: Kafka,
    coordinators: Mapping[str, Address],
    steps: Collection[CommitStep],
    journal_topic: str,
    *,
    ends: bool,
) -> Lacking:
    """Return what our principal lacks to carry out these steps, and to end transactions.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    groups = sorted({each.group for each in steps})
    refused = _lacking_groups(kafka, {each: coordinators[each] for each in groups})
    topics = _lacking_topics(kafka, {each.topic for each in steps})
    named = [("--group", refused), ("--topic", topics)]
    lacking: list[tuple[tuple[str, ...], str]] = [(("READ",), _options(*each)) for each in named if each[1]]
    on_cluster = kafka.cluster_operations() if steps or ends else frozenset()
    cannot_end, missing = ends and not on_cluster & _MARKS, set[str]()
    if cannot_end:
        lacking.append((("ALTER",), "--cluster"))
    if steps or ends:
        found = kafka.topic_operations([journal_topic]).get(journal_topic)
        held = found.operations if found else frozenset()
        missing = {*RUN_TOPIC_RIGHTS} - held - (on_cluster & {"CREATE"}) - _NOT_NEEDED
        if missing:
            lacking.append((RUN_TOPIC_RIGHTS, f"--topic {journal_topic}"))
    commands = tuple(grant_command(kafka.settings, operations, resource) for operations, resource in lacking)
    return Lacking(frozenset(refused), frozenset(topics), cannot_end, bool(missing), commands)


def _lacking_groups(kafka: Kafka, coordinators: Mapping[str, Address]) -> list[str]:
    by_coordinator = grouped((address, group) for group, address in coordinators.items())
    answers = kafka.in_parallel(
        lambda address: kafka.group_operations(address, by_coordinator[address]), by_coordinator
    )
    return sorted(
        group
        for each in answers.values()
        # A coordinator that does not answer is met again, and named, by the commit.
        if not isinstance(each, BrokerCallError)
        for group, operations in each.items()
        if "READ" not in operations
    )


def _lacking_topics(kafka: Kafka, topics: Collection[str]) -> list[str]:
    found = kafka.topic_operations(sorted(topics)) if topics else {}
    return sorted(topic for topic, each in found.items() if "READ" not in each.operations)


def _options(option: str, names: Iterable[str]) -> str:
    return " ".join(f"{option} {shlex.quote(each)}" for each in names)
