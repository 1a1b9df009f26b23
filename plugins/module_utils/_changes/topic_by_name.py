# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look up and repair a topic of this collection by its name, and send requests about it to any broker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from .._kafka import error_codes
from .._kafka.acls import grant_command
from .._kafka.base_port import BaseKafka
from .._kafka.errors import BrokerCallError, CallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.settings import Address
from .._model.partition import PartitionState
from .._model.run import Clock
from .._model.setting import TOPIC_RESOURCE
from .record import JournalError

LATE_AFTER_S = 1.0
"""How long brokers may take to apply metadata before they count as late."""
TIMEOUT_S = 12.0
"""The time limit for one operation on a topic. Its leader may move, for example in a drain."""
_PAUSE_S = 0.5
_NOT_AUTHORIZED = (error_codes.TOPIC_AUTHORIZATION_FAILED, error_codes.CLUSTER_AUTHORIZATION_FAILED)
Value = TypeVar("Value")


def send_to_any(
    addresses: Collection[Address], request: Callable[[Address], Value], clock: Clock, seconds: float
) -> Value:
    """Send a request to one broker after another, and again after a pause, until one of them executes it.

    The controller may fail over, and a repeated request must do no harm. Raises the last CallError at a final refusal,
    or when the time is over.
    """
    last: CallError = NoBrokerAnswersError("the request", ())
    deadline = clock.monotonic() + seconds
    while True:
        for address in addresses:
            try:
                return request(address)
            except CallError as error:
                last = error
                if error.is_final:
                    raise
        if clock.monotonic() >= deadline or not addresses:
            raise last
        clock.sleep(_PAUSE_S)


class TopicUnavailableError(JournalError):
    """A topic of this collection cannot be created or used. A retry does not help."""


class TopicOfflineError(JournalError):
    """A topic of this collection has no leader."""

    def __init__(self, state: PartitionState) -> None:
        self.state = state
        super().__init__(
            f"topic {state.topic} (id {state.topic_id}) has no leader: its replicas are on brokers {[*state.replicas]}"
        )


@dataclass(frozen=True, slots=True)
class TopicByName:
    """The name of a topic of this collection, and the brokers to ask about it. ``OwnTopic`` is a topic by its id."""

    kafka: BaseKafka
    living: Mapping[int, Address]
    """Addresses of the brokers that answer, by id, in the order of preference."""
    addresses: Mapping[int, Address]
    """Addresses of all registered brokers, by id."""
    topic: str
    rights: Sequence[str]
    """The ACL operations that our principal needs on the topic."""
    timeout_s: float = TIMEOUT_S
    tell: Callable[[str], object] = str
    """Says what is waited for."""

    def choose_brokers(self, copies: int) -> list[int]:
        """Return the brokers for a new topic, leader first. Those that apply metadata late are left out, if possible.

        A late broker does not know the topic for that time: as leader it refuses its records, and as follower it lets
        acks=all wait.
        """
        late = self.kafka.find_late(self.living, LATE_AFTER_S)
        fit = [each for each in self.living if each not in late]
        return (fit if len(fit) > 1 else [*fit, *late])[:copies]

    def repair(self, config: Mapping[str, str]) -> None:
        """Give a topic of an earlier run the configs that differ from ``config``, because it inherits them.

        Without DESCRIBE_CONFIGS nothing is known to differ, and the topic is used as it is. No lock is needed, because
        every run sets the same values, and without them a run may not be able to claim the lock.

        Raises TopicUnavailableError: a config differs, and cannot be set. NoBrokerAnswersError.
        """
        try:
            found = self.kafka.read_configs(None, TOPIC_RESOURCE, self.topic, [*config])
        except RequestRefusedError:
            return
        edits = {name: value for name, value in config.items() if name in found and found[name].value != value}
        if not edits:
            return
        try:
            self.send(lambda to: self.kafka.write_configs(to, TOPIC_RESOURCE, self.topic, edits))
        except CallError as error:
            problem = error
            if error.code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
                return
        else:
            return
        settings = ",".join(f"{name}={value}" for name, value in edits.items())
        raise TopicUnavailableError(
            f"topic {self.topic} has configs with which its records may be refused, unreadable or deleted, and they "
            f"cannot be set: {problem}. Let an administrator run: kafka-configs.sh --alter --entity-type topics "
            f"--entity-name {self.topic} --add-config {settings}"
        )

    def locate(self) -> PartitionState | None:
        """Return the topic's partition; None if no living broker shows such a topic.

        A broker may not know yet a topic that was just created, for example with another run's ticket or pending
        change. The leader knows it, because it acknowledged the record.

        Raises TopicUnavailableError, TopicOfflineError or NoBrokerAnswersError.
        """
        description = self.kafka.describe_partitions([self.topic])
        for refused in description.refused:
            if not refused.is_unknown:
                raise self.unavailable("cannot be described", error_codes.describe_error(refused.code), refused.code)
        states = description.partitions or next(filter(None, self._shown_by_each()), ())
        if not states:
            return None
        if len(states) > 1:
            raise TopicUnavailableError(
                f"topic {self.topic} has several partitions, and must have one: name another topic, or delete this one "
                "if it is not used, and the next run creates it again"
            )
        state = states[0]
        if state.is_offline:
            raise TopicOfflineError(state)
        return state

    def is_shown(self, topic_id: str) -> bool:
        """Return whether any living broker shows the topic with this id."""
        return any(each.topic_id == topic_id for states in self._shown_by_each() for each in states)

    def _shown_by_each(self) -> list[tuple[PartitionState, ...]]:
        """Return the first two partitions that each living broker shows. A broker that fails shows none."""
        found = self.kafka.in_parallel(
            lambda broker_id: self.kafka.first_partitions_at(self.living[broker_id], self.topic, 2), self.living
        )
        return [each for each in found.values() if not isinstance(each, BrokerCallError)]

    def unavailable(self, what: str, problem: str, code: int) -> TopicUnavailableError:
        """Return the error. If an ACL is missing, it has the command that grants all that the topic needs."""
        text = f"topic {self.topic} {what}: {problem}"
        if code in _NOT_AUTHORIZED:
            command = grant_command(self.kafka.settings, self.rights, f"--topic {self.topic}")
            text = f"{text}. Let an administrator run: {command}"
        return TopicUnavailableError(text)

    def send(self, request: Callable[[Address], Value]) -> Value:
        """Send a write request to any living broker. Raises CallError."""
        return send_to_any(self.living.values(), request, self.kafka.clock, self.timeout_s)
