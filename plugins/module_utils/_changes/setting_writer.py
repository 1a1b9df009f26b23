# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Change settings temporarily: record the change in the journal, set the value, and restore the original value.

If the resource had no value of its own, DELETE restores that: then value *and source* are the original ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .._kafka import error_codes
from .._kafka.errors import CallError, RequestRefusedError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError
from .._model.setting import (
    BROKER_RESOURCE,
    THROTTLE_RATE,
    THROTTLED_REPLICAS,
    TOPIC_RESOURCE,
    Setting,
    same_value,
)
from .journal import Journal
from .record import Change, Leftover, ReplicaChange, SettingChange, Undoing, subject_of
from .sender import Seen, Writer, undo_when_shown, until_seen

_TOPIC = "topic"
_KINDS = {"broker": BROKER_RESOURCE, _TOPIC: TOPIC_RESOURCE}


class SettingError(KafkaOpsError):
    """A setting does not have the requested value. Its change is still in the journal."""


class BrokerDownError(SettingError):
    """Only the broker itself takes its settings, and it is down."""


class SettingRefusedError(SettingError):
    """All attempts were refused, so nothing was changed."""


@dataclass(frozen=True, slots=True)
class SettingWriter:
    """Write settings. A broker's own settings are written to that broker."""

    writer: Writer
    living: Mapping[int, Address]
    """The addresses of living brokers."""

    @property
    def kafka(self) -> Kafka:
        return self.writer.kafka

    def read_configs(self, change: SettingChange) -> str | None:
        """Return the resource's own value; None if it has none.

        Raises SettingError or CallError.
        """
        found = self.read_effective(change)
        return found.own if found is not None else None

    def read_effective(self, change: SettingChange) -> Setting | None:
        """Return the value in effect, from any source; None if the broker returns none.

        Raises SettingError or CallError.
        """
        address = None if change.kind == _TOPIC else self._broker_address(change)
        return self.kafka.read_configs(address, _KINDS[change.kind], change.resource, [change.name]).get(change.name)

    def read_topic_id(self, topic: str) -> str:
        """Return the id of a topic; empty if there is no such topic.

        Raises CallError.
        """
        state = self.kafka.read_partition_state(TopicPartition(topic, 0))
        return state.topic_id if state is not None else ""

    def write(self, change: SettingChange, value: str | None) -> None:
        """Set a value, or delete it (None), and wait until it is read back. Raises SettingError.

        Kafka's request names the topic and not its id. So the id is read right before the request, and once more when
        the value is seen: from a topic that was re-created in between, the value is removed.
        """
        addresses = [*self.living.values()] if change.kind == _TOPIC else [self._broker_address(change)]

        def send(address: Address, _changes: Sequence[SettingChange]) -> Mapping[SettingChange, None]:
            self.kafka.write_configs(address, _KINDS[change.kind], change.resource, {change.name: value})
            return {change: None}

        def look(_changes: Sequence[SettingChange]) -> Mapping[SettingChange, Seen]:
            if change.topic_id and (found := self.read_topic_id(change.resource)) != change.topic_id:
                return {change: Seen(False, _recreated(found), is_final=True)}
            current = self.read_configs(change)
            return {change: Seen(same_value(current, value), f"its value is {text_of(current)}")}

        unseen = until_seen(
            replace(self.writer, addresses=addresses),
            [change],
            send,
            look,
            name=subject_of,
            looks_first=bool(change.topic_id),
        ).get(change)
        if unseen is None:
            return
        problem = f"{change} could not be set to {text_of(value)}: {unseen.reason}"
        if unseen.may_be_made and value is not None:
            late = replace(change, changed=value)
            problem += undo_when_shown(self.kafka, lambda: self.remove_late_value(late)) if change.topic_id else ""
        is_refused = not unseen.may_be_made and not self.writer.why_forbidden()
        raise SettingRefusedError(problem) if is_refused else SettingError(problem)

    def remove_late_value(self, change: SettingChange) -> str:
        """Remove a value of ours from the successor of a deleted topic. Return what was done; empty for nothing.

        The request of a dead run may have been executed after the topic was re-created.
        """
        try:
            found = self.read_topic_id(change.resource) if change.topic_id else ""
            if found in ("", change.topic_id) or not same_value(self.read_configs(change), change.changed):
                return ""
            self.write(replace(change, topic_id=found), None)
        except (CallError, SettingError) as error:
            return f"; whether it has {change.name}={change.changed} from us is unknown: {error}"
        return f"; {change.name}={change.changed}, which we had requested, was removed from it"

    def _broker_address(self, change: SettingChange) -> Address:
        address = self.living.get(int(change.resource))
        if address is None:
            raise BrokerDownError(
                f"broker {change.resource} does not answer, so its {change.name} cannot be read or written. Its "
                f"original value: {text_of(change.original)}. Start the broker, and run again"
            )
        return address


def _recreated(topic_id: str) -> str:
    return f"the topic was re-created (id {topic_id})" if topic_id else "the topic does not exist any more"


def restore_setting(writer: SettingWriter, journal: Journal, change: SettingChange) -> Leftover[SettingChange]:
    """Restore a setting unless another party has changed it since.

    The value is written also if it seems to be restored: a read may lag behind the write of the change. The throttle of
    a pending replica change stays, because that replica may still be copied.
    """
    if reason := why_in_use(change, journal.pending):
        return Leftover(change, Undoing.FAILED, reason)
    found = preview_setting_undo(writer, change)
    if found.undoing in (Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK):
        try:
            writer.write(change, change.original)
        except BrokerDownError as error:
            return Leftover(change, Undoing.WAITS, str(error))
        except SettingError as error:
            return Leftover(change, Undoing.FAILED, str(error))
    if found.undoing is Undoing.WOULD_RESTORE:
        return Leftover(change, Undoing.RESTORED, f"back to {text_of(change.original)}")
    if found.undoing is Undoing.GONE:
        return replace(found, reason=found.reason + writer.remove_late_value(change))
    return found


def why_in_use(change: SettingChange, pending: Sequence[Change]) -> str:
    """Return which pending replica changes need a throttle; empty if none does."""
    place = (change.kind, change.resource)
    return "; ".join(
        f"it is kept until the replica of {each.topic_partition} on broker {each.broker_id} is restored"
        for each in pending
        if isinstance(each, ReplicaChange) and throttled_places(each.topic, each.broker_id).get(place) == change.name
    )


def throttled_places(topic: str, broker_id: int) -> Mapping[tuple[str, str], str]:
    """Return the names of the settings that throttle a topic's replica on a broker, by kind and resource."""
    return {("broker", str(broker_id)): THROTTLE_RATE, ("topic", topic): THROTTLED_REPLICAS}


def preview_setting_undo(writer: SettingWriter, change: SettingChange) -> Leftover[SettingChange]:
    """Return what an undo of a change would do, and why. Writes nothing."""
    try:
        if change.topic_id and (found := writer.read_topic_id(change.resource)) != change.topic_id:
            return Leftover(change, Undoing.GONE, _recreated(found))
        current = writer.read_configs(change)
    except RequestRefusedError as error:
        if change.kind == _TOPIC and error.code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
            return Leftover(change, Undoing.GONE, _recreated(""))
        return Leftover(change, Undoing.FAILED, str(error))
    except BrokerDownError as error:
        return Leftover(change, Undoing.WAITS, str(error))
    except (CallError, SettingError) as error:
        return Leftover(change, Undoing.FAILED, str(error))
    original = text_of(change.original)
    if same_value(current, change.original):
        return Leftover(change, Undoing.ALREADY_BACK, f"its value is the original one: {original}")
    if same_value(current, change.changed):
        return Leftover(change, Undoing.WOULD_RESTORE, f"a run left {change.changed}: back to {original}")
    why = f"its value is {text_of(current)}, set by another party; the original value was {original}"
    return Leftover(change, Undoing.CONFLICT, why)


def begin_change(writer: SettingWriter, journal: Journal, change: SettingChange) -> SettingChange:
    """Record a change in the journal, make it, and return it as recorded. If it fails, it is undone if possible.

    Raises SettingError, or JournalError before anything was changed.
    """
    was_pending = any(each.key == change.key for each in journal.pending)
    (change,) = journal.begin([change])
    try:
        writer.write(change, change.changed)
    except SettingError as error:
        if isinstance(error, SettingRefusedError) and not was_pending:
            # Nothing was changed, so there is nothing to restore.
            journal.end([change], "refused")
        else:
            journal.end_undone([restore_setting(writer, journal, change)])
        raise
    return change


def text_of(value: str | None) -> str:
    """Return the value of a setting for a message."""
    return "not set" if value is None else value
