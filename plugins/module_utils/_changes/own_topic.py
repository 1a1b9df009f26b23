# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find, create, append to, read and delete a topic of this collection. It has one partition.

Reads and deletions name the topic id, so that they never touch a later topic of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from .._kafka import error_codes
from .._kafka.acls import grant_command
from .._kafka.base_port import BaseKafka
from .._kafka.configs import TOPIC
from .._kafka.errors import BrokerCallError, CallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.settings import Address
from .._kafka.topics import Record, TopicRecords, UnreadableRecordsError
from .._model.partition import PartitionState, TopicPartition
from .._model.run import Clock, looks
from .journal import LockLostError
from .record import JournalError

BYTES_PER_REQUEST = 1_000_000
"""The size of a request before compression. The default of max.message.bytes is 1,048,588."""
_PAUSE_S = 0.5
_TOLD_AFTER_S = 2.0
"""A new leader usually answers within this time."""
_DELETED_AFTER_S = 1.0
"""A topic counts as deleted if it is missing for this time: brokers learn of a new topic late."""
_LATE_AFTER_S = 1.0
"""How long brokers may take to apply metadata before a new topic is created on others."""
_LATE_CONFIGS = (error_codes.INVALID_TIMESTAMP, error_codes.MESSAGE_TOO_LARGE, error_codes.RECORD_LIST_TOO_LARGE)
"""With these errors a leader may refuse records until it has learnt of configs that were just set."""
_NOT_AUTHORIZED = (error_codes.TOPIC_AUTHORIZATION_FAILED, error_codes.CLUSTER_AUTHORIZATION_FAILED)
_MOVED = (error_codes.NOT_LEADER_OR_FOLLOWER, error_codes.UNKNOWN_TOPIC_OR_PARTITION, error_codes.UNKNOWN_TOPIC_ID)
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
class OwnTopics:
    """A topic of this collection by its name."""

    kafka: BaseKafka
    living: Mapping[int, Address]
    """Addresses of the brokers that answer, by id, in the order of preference."""
    addresses: Mapping[int, Address]
    """Addresses of all registered brokers, by id."""
    topic: str
    rights: Sequence[str]
    """The ACL operations that our principal needs on the topic."""
    timeout_s: float
    """The time limit for one operation on the topic."""
    tell: Callable[[str], object] = str
    """Says what is waited for."""

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

    def find(self) -> OwnTopic | None:
        """Return the topic; None if there is none. If it has no leader, wait for one.

        Raises JournalError or NoBrokerAnswersError.
        """
        problem = ""
        for _look in looks(self.kafka.clock, self.timeout_s):
            try:
                found = self.locate()
            except TopicOfflineError as error:
                if not problem:
                    self.tell(f"waiting up to {self.timeout_s:.0f} s for a leader: {error}")
                problem = str(error)
            else:
                return OwnTopic(self, found.topic_id, found.leader_id) if found is not None else None
        raise JournalError(f"{problem}. Nothing was changed without its records: recover it first")

    def find_created(self) -> OwnTopic:
        """Return a topic that was just created. Brokers learn of it late. Raises JournalError."""
        for _look in looks(self.kafka.clock, self.timeout_s):
            if found := self.find():
                return found
        raise JournalError(f"topic {self.topic} was created, but no broker shows it")

    def choose_brokers(self, copies: int) -> list[int]:
        """Return the brokers for a new topic, leader first. Those that apply metadata late are left out, if possible.

        A late broker does not know the topic for that time: as leader it refuses its records, and as follower it lets
        acks=all wait.
        """
        late = self.kafka.find_late(self.living, _LATE_AFTER_S)
        fit = [each for each in self.living if each not in late]
        return (fit if len(fit) > 1 else [*fit, *late])[:copies]

    def create(self, replicas: Sequence[int], config: Mapping[str, str]) -> OwnTopic | None:
        """Create the topic and return it; None if it exists already.

        Raises TopicUnavailableError or JournalError.
        """
        try:
            topic_id = self.send(lambda to: self.kafka.create_topic(to, self.topic, replicas, config))
        except CallError as error:
            if error.code == error_codes.TOPIC_ALREADY_EXISTS:
                return None
            if error.is_final:
                raise self.unavailable("cannot be created", str(error), error.code) from None
            raise JournalError(f"topic {self.topic} cannot be created: {error}") from None
        return OwnTopic(self, topic_id, replicas[0])

    def repair(self, config: Mapping[str, str]) -> None:
        """Give a topic of an earlier run the configs that differ from ``config``, because it inherits them.

        Without DESCRIBE_CONFIGS nothing is known to differ, and the topic is used as it is. No lock is needed, because
        every run sets the same values, and without them a run may not be able to claim the lock.

        Raises TopicUnavailableError: a config differs, and cannot be set. NoBrokerAnswersError.
        """
        try:
            found = self.kafka.read_configs(None, TOPIC, self.topic, [*config])
        except RequestRefusedError:
            return
        edits = {name: value for name, value in config.items() if name in found and found[name].value != value}
        if not edits:
            return
        try:
            self.send(lambda to: self.kafka.write_configs(to, TOPIC, self.topic, edits))
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

    def add_missing_replicas(self, copies: int) -> None:
        """Add replicas on living brokers to a topic that was created while fewer of them were alive, if possible.

        Raises TopicUnavailableError, TopicOfflineError or NoBrokerAnswersError.
        """
        found = self.locate()
        if found is None:
            return
        others = {each: address for each, address in self.living.items() if each not in found.replicas}
        if len(found.replicas) >= copies or not others:
            return
        # A late broker begins its copy late. A later run adds one as well.
        late = self.kafka.find_late(others, _LATE_AFTER_S)
        if missing := [each for each in others if each not in late][: copies - len(found.replicas)]:
            OwnTopic(self, found.topic_id, found.leader_id).add_followers([*found.replicas, *missing])

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


class OwnTopic:
    """A topic of this collection by its id."""

    def __init__(self, topics: OwnTopics, topic_id: str, leader_id: int) -> None:
        self._topics = topics
        self._partition = TopicPartition(topics.topic, 0)
        self.topic_id = topic_id
        self._leader_id = leader_id
        self._awaits_follower = False

    @property
    def name(self) -> str:
        return f"topic {self._topics.topic}"

    def read(self, offset: int) -> TopicRecords:
        """Return the records from an offset on. Raises LockLostError if the topic was deleted, or JournalError."""
        return self.ask(lambda leader: self._topics.kafka.read_records(leader, self.topic_id, offset))

    def append(self, records: Sequence[Record]) -> list[tuple[int, int]]:
        """Append records in requests of a limited size, and wait until all in-sync replicas have them.

        Return the offset of the first record and the number of records, for each request. A request with an unknown
        outcome is repeated, so the topic may have a record twice.

        Raises LockLostError if the topic was deleted, or JournalError.
        """

        def append_to(leader: Address, batch: Sequence[Record]) -> tuple[int, int]:
            return self._topics.kafka.append_records(leader, self._partition, batch), len(batch)

        return [self.ask(partial(append_to, batch=batch)) for batch in _split(records)]

    def add_followers(self, replicas: Sequence[int]) -> bool:
        """Request the topic's replicas, leader first, and return at once. Return False if the request is refused."""
        try:
            refused = self._topics.send(lambda to: self._topics.kafka.assign(to, self._partition, replicas))
        except CallError as error:
            if error.is_final:
                return False
        else:
            if refused:
                return False
        self._awaits_follower = True
        return True

    def wait_for_follower(self) -> None:
        """Wait until a follower that was added is in sync: then each acknowledged record is on two brokers.

        Raises JournalError.
        """
        if not self._awaits_follower:
            return
        for _look in looks(self._topics.kafka.clock, self._topics.timeout_s):
            with suppress(CallError, TopicOfflineError):
                found = self._topics.locate()
                if found is not None and found.topic_id == self.topic_id and len(found.isr) > 1:
                    self._awaits_follower = False
                    return
        late = self._topics.kafka.find_late(self._topics.living, _LATE_AFTER_S)
        why = "; ".join(f"broker {each} applies metadata late: {lacks}" for each, lacks in late.items())
        raise JournalError(
            f"no follower of {self.name} is in sync after {self._topics.timeout_s:g} s, so its records would be on one "
            f"broker only: {why or 'look at the logs of the other brokers'}"
        )

    def delete(self) -> str:
        """Delete the topic, and return why it is not deleted; empty if it is."""
        try:
            self._topics.send(lambda to: self._topics.kafka.delete_topic(to, self.topic_id))
        except CallError as error:
            return "" if error.code == error_codes.UNKNOWN_TOPIC_ID else str(error)
        return ""

    def ask(self, request: Callable[[Address], Value]) -> Value:
        """Send a request to the leader, and again to the new leader if the leader has moved.

        Raises LockLostError if the topic was deleted, or JournalError.
        """
        missing_since: float | None = None
        problem = told = ""
        began = self._topics.kafka.clock.monotonic()
        for _look in looks(self._topics.kafka.clock, self._topics.timeout_s):
            is_denied = False
            try:
                if self._leader_id in self._topics.addresses:
                    return request(self._topics.addresses[self._leader_id])
                problem = (
                    f"broker {self._leader_id}, its leader, did not answer when this run began. If it is dead or hung, "
                    "the controller elects another leader after broker.session.timeout.ms: run this again then"
                )
            except RequestRefusedError as error:
                problem = str(error)
                is_denied = error.code == error_codes.UNKNOWN_TOPIC_ID and self._is_leader_current()
                if error.code == error_codes.OFFSET_OUT_OF_RANGE:
                    raise LockLostError(f"{self.name} has lost records of this run") from None
                if error.code not in (*_MOVED, *_LATE_CONFIGS) and not error.is_transient:
                    raise self._topics.unavailable("cannot be used", problem, error.code) from None
            except UnreadableRecordsError as error:
                raise TopicUnavailableError(
                    f"{self.name} (id {self.topic_id}) holds records that cannot be decoded: {error}. Nothing was "
                    "changed. Find out who wrote them: kafka-console-consumer.sh --from-beginning --topic "
                    f"{self._topics.topic}"
                ) from None
            except BrokerCallError as error:
                problem = str(error)
            now = self._topics.kafka.clock.monotonic()
            if not told and now - began >= _TOLD_AFTER_S:
                told = problem
                self._topics.tell(f"waiting up to {self._topics.timeout_s:.0f} s for {self.name}: {problem}")
            if not is_denied and self._update_leader():
                missing_since = None
            else:
                missing_since = missing_since or now
                if now - missing_since >= _DELETED_AFTER_S:
                    raise LockLostError(f"{self.name} (id {self.topic_id}) was deleted")
        raise JournalError(f"{self.name} does not answer: {problem}")

    def _is_leader_current(self) -> bool:
        """Return whether the leader has applied all metadata. If it denies the topic, only late brokers show it."""
        leader = {self._leader_id: self._topics.addresses[self._leader_id]}
        return not self._topics.kafka.find_late(leader, _LATE_AFTER_S)

    def _update_leader(self) -> bool:
        """Look up the leader. Return False if no broker shows a topic of this id.

        A broker that applies metadata late does not know a new topic yet, or still shows the one before it.
        """
        try:
            found = self._topics.locate()
        except (CallError, TopicOfflineError):
            return True
        if found is None:
            return False
        if found.topic_id != self.topic_id:
            return self._topics.is_shown(self.topic_id)
        self._leader_id = found.leader_id
        return True


def _split(records: Sequence[Record]) -> list[list[Record]]:
    """Split records into batches of at most ``BYTES_PER_REQUEST``."""
    batches: list[list[Record]] = [[]]
    size = 0
    for record in records:
        record_size = sum(len(each or b"") for each in record)
        if size + record_size > BYTES_PER_REQUEST and batches[-1]:
            batches.append([])
            size = 0
        batches[-1].append(record)
        size += record_size
    return [each for each in batches if each]
