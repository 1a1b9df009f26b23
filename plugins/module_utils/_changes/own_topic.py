# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Create, find, append to, read and delete a topic of this collection. It has one partition.

Each request names the topic id, so that it never touches a later topic of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from .._kafka import error_codes
from .._kafka.errors import BrokerCallError, CallError, RequestRefusedError
from .._kafka.settings import Address
from .._kafka.topics import Record, TopicRecords, UnreadableRecordsError
from .._model.partition import TopicPartition
from .._model.run import looks
from .journal import LockLostError
from .record import JournalError
from .topic_by_name import LATE_AFTER_S, TopicByName, TopicOfflineError, TopicUnavailableError, Value

BYTES_PER_REQUEST = 1_000_000
"""The size of a request before compression. The default of max.message.bytes is 1,048,588."""
_TOLD_AFTER_S = 2.0
"""A new leader usually answers within this time."""
_DELETED_AFTER_S = 1.0
"""A topic counts as deleted if it is missing for this time: brokers learn of a new topic late."""
_LATE_CONFIGS = (error_codes.INVALID_TIMESTAMP, error_codes.MESSAGE_TOO_LARGE, error_codes.RECORD_LIST_TOO_LARGE)
"""With these errors a leader may refuse records until it has learnt of configs that were just set."""
_MOVED = (error_codes.NOT_LEADER_OR_FOLLOWER, error_codes.UNKNOWN_TOPIC_OR_PARTITION, error_codes.UNKNOWN_TOPIC_ID)


class FirstRecordsDeletedError(JournalError):
    """A topic of this collection has lost its first records, or all of them."""

    def __init__(self, name: str, topic_id: str, *, is_empty: bool) -> None:
        self.topic_id = topic_id
        topic = f"{name} (id {topic_id})"
        super().__init__(
            f"{topic} is empty, and its leader is not the first one, so its last leader came back with an empty disk: "
            "what an earlier run has not undone is not in it any more"
            if is_empty
            else f"another party has deleted the first records of {topic}, by retention or DeleteRecords, so what an "
            "earlier run has not undone may not be in it any more"
        )


class OwnTopic:
    """A topic of this collection by its id."""

    def __init__(self, topics: TopicByName, topic_id: str, leader_id: int, leader_epoch: int = 0) -> None:
        """``leader_epoch`` is 0 until the first leader of a new topic has failed."""
        self._topics = topics
        self._partition = TopicPartition(topics.topic, 0)
        self.topic_id = topic_id
        self.leader_id = leader_id
        self._leader_epoch = leader_epoch
        self._awaits_follower = False

    @classmethod
    def find(cls, topics: TopicByName) -> OwnTopic | None:
        """Return the topic; None if there is none. If it has no leader, wait for one.

        Raises JournalError or NoBrokerAnswersError.
        """
        problem = ""
        for _look in looks(topics.kafka.clock, topics.timeout_s):
            try:
                found = topics.locate()
            except TopicOfflineError as error:
                if not problem:
                    topics.tell(f"waiting up to {topics.timeout_s:.0f} s for a leader: {error}")
                problem = str(error)
            else:
                return cls(topics, found.topic_id, found.leader_id, found.leader_epoch) if found else None
        raise JournalError(f"{problem}. Nothing was changed without its records: recover it first")

    @classmethod
    def find_created(cls, topics: TopicByName) -> OwnTopic:
        """Return a topic that was just created. Brokers learn of it late. Raises JournalError."""
        for _look in looks(topics.kafka.clock, topics.timeout_s):
            if found := cls.find(topics):
                return found
        raise JournalError(f"topic {topics.topic} was created, but no broker shows it")

    @classmethod
    def create(cls, topics: TopicByName, replicas: Sequence[int], config: Mapping[str, str]) -> OwnTopic | None:
        """Create the topic and return it; None if it exists already.

        Raises TopicUnavailableError or JournalError.
        """
        try:
            topic_id = topics.send(lambda to: topics.kafka.create_topic(to, topics.topic, replicas, config))
        except CallError as error:
            if error.code == error_codes.TOPIC_ALREADY_EXISTS:
                return None
            if error.is_final:
                raise topics.unavailable("cannot be created", str(error), error.code) from None
            raise JournalError(f"topic {topics.topic} cannot be created: {error}") from None
        return cls(topics, topic_id, replicas[0])

    @property
    def name(self) -> str:
        return f"topic {self._topics.topic}"

    def read(self, offset: int) -> TopicRecords:
        """Return the records from an offset on.

        Raises FirstRecordsDeletedError, LockLostError if the topic or later records were deleted, or JournalError.
        """

        def read_from(leader: Address) -> TopicRecords:
            read = self._topics.kafka.read_records
            found = None
            try:
                found = read(leader, self.topic_id, offset)
                if not found.next_offset and self._leader_epoch:
                    read(leader, self.topic_id, 1)  # refused unless the log has, or had, a record
            except RequestRefusedError as error:
                if error.code != error_codes.OFFSET_OUT_OF_RANGE:
                    raise
                if offset == 0:
                    raise FirstRecordsDeletedError(self.name, self.topic_id, is_empty=found is not None) from None
                raise LockLostError(f"{self.name} has lost records of this run") from None
            return found

        return self.ask(read_from)

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

    def add_missing_replicas(self, copies: int) -> None:
        """Add replicas on living brokers to a topic that was created while fewer of them were alive, if possible.

        Raises TopicUnavailableError, TopicOfflineError or NoBrokerAnswersError.
        """
        found = self._topics.locate()
        if found is None:
            return
        others = {each: address for each, address in self._topics.living.items() if each not in found.replicas}
        if len(found.replicas) >= copies or not others:
            return
        # A late broker begins its copy late. A later run adds one as well.
        late = self._topics.kafka.find_late(others, LATE_AFTER_S)
        if missing := [each for each in others if each not in late][: copies - len(found.replicas)]:
            self.add_followers([*found.replicas, *missing])

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
        late = self._topics.kafka.find_late(self._topics.living, LATE_AFTER_S)
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
                if self.leader_id in self._topics.addresses:
                    return request(self._topics.addresses[self.leader_id])
                problem = (
                    f"broker {self.leader_id}, its leader, did not answer when this run began. If it is dead or hung, "
                    "the controller elects another leader after broker.session.timeout.ms: run this again then"
                )
            except RequestRefusedError as error:
                problem = str(error)
                is_denied = error.code == error_codes.UNKNOWN_TOPIC_ID and self._is_leader_current()
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
        leader = {self.leader_id: self._topics.addresses[self.leader_id]}
        return not self._topics.kafka.find_late(leader, LATE_AFTER_S)

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
        self.leader_id = found.leader_id
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
