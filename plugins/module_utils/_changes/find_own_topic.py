# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find, create and repair a topic of this collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._kafka import error_codes
from .._kafka.configs import TOPIC
from .._kafka.errors import CallError, RequestRefusedError
from .._model.run import looks
from .own_topic import LATE_AFTER_S, OwnTopic
from .record import JournalError
from .topic_by_name import TopicByName, TopicOfflineError, TopicUnavailableError


@dataclass(frozen=True, slots=True)
class OwnTopics(TopicByName):
    """A topic of this collection by its name. ``OwnTopic`` is the one that has this name now."""

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
                return OwnTopic(self, found.topic_id, found.leader_id, found.leader_epoch) if found else None
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
        late = self.kafka.find_late(self.living, LATE_AFTER_S)
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
        late = self.kafka.find_late(others, LATE_AFTER_S)
        if missing := [each for each in others if each not in late][: copies - len(found.replicas)]:
            OwnTopic(self, found.topic_id, found.leader_id).add_followers([*found.replicas, *missing])
