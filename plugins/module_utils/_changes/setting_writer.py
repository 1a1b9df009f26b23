# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The only writer of settings for a while: journal first, then the change, then exactly what was there before.

"Unset" is put back by DELETE, so that value *and source* end as they began.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._kafka import error_codes
from .._kafka.configs import BROKER, TOPIC
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.run import KafkaOpsError
from .._model.setting import Setting, same_value
from .journal import Journal
from .orders import NoteLateRequests, note_lost_response
from .record import Change, JournalError, ReplicaChange, SettingChange, Undoing, subject_of

THROTTLE_RATE = "follower.replication.throttled.rate"
THROTTLED_REPLICAS = "follower.replication.throttled.replicas"
_LOOK_EVERY_S = 0.1
_PAUSE_S = 0.5
_TOPIC = "topic"
_KINDS = {"broker": BROKER, _TOPIC: TOPIC}


class SettingError(KafkaOpsError):
    """A setting was not seen to change as asked. The journal still holds what is to be put back."""


class SettingRefusedError(SettingError):
    """Every attempt was refused: nothing was changed."""


@dataclass(frozen=True, slots=True)
class SettingWriter:
    """Writes settings. Each broker's own settings go to that broker."""

    kafka: Kafka
    addresses: Mapping[int, Address]
    """Of the living brokers."""
    attempts: int
    verify_timeout_s: float
    require_lock: Callable[[], None] | None = None
    """Called before each write request; raises JournalError when this run must not write (any more)."""
    note_late_requests: NoteLateRequests | None = None
    """Called with what requests were about whose responses were lost."""

    def with_journal(self, journal: Journal) -> SettingWriter:
        """Return the writer of the run that has this journal: it writes only as long as the run holds the lock."""
        return replace(self, require_lock=journal.require_lock, note_late_requests=journal.note_late_requests)

    def read_own(self, change: SettingChange) -> str | None:
        """Return the value that the resource itself has now; None when none is set.

        Raises SettingError, NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
        """
        found = self.read_effective(change)
        return found.own if found is not None else None

    def read_effective(self, change: SettingChange) -> Setting | None:
        """Return the value that holds now, from any source; None when the broker returns none.

        Raises SettingError, NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
        """
        address = None if change.kind == _TOPIC else self._its_own_address(change)
        return self.kafka.read_own(address, _KINDS[change.kind], change.resource, [change.name]).get(change.name)

    def write(self, change: SettingChange, value: str | None) -> None:
        """Set it, or delete it (None), and return once it is read back.

        Raises SettingError.
        """
        fault, may_be_changed = "", False
        for attempt in range(self.attempts):
            if attempt:
                self.kafka.clock.sleep(_PAUSE_S)
            try:
                address = self._address_for(change, attempt)
                self._may_write()
                self.kafka.write_own(address, _KINDS[change.kind], change.resource, {change.name: value})
            except RequestRefusedError as refusal:
                note_lost_response(self.note_late_requests, self.kafka, refusal, [subject_of(change)])
                fault = str(refusal)
                may_be_changed |= refusal.is_outcome_unknown
                if not refusal.is_transient and not refusal.is_outcome_unknown:
                    break
            except BrokerCallError as unknown:
                # It may have been carried out: a look shows it.
                note_lost_response(self.note_late_requests, self.kafka, unknown, [subject_of(change)])
                fault, may_be_changed = f"the outcome is unknown: {unknown}", True
            else:
                fault, may_be_changed = "the broker accepted it, and the new value is not visible yet", True
            if self._is_seen(change, value):
                return
        problem = f"{change.name} of {change.kind} {change.resource} cannot be brought to {_shown(value)}: {fault}"
        raise SettingError(problem) if may_be_changed else SettingRefusedError(problem)

    def write_edits(self, broker_id: int, edits: Mapping[str, str | None]) -> str:
        """Bring a broker's own settings to these values for good, all or none; return why not, or nothing.

        A request whose outcome is unknown is looked up before any further attempt.
        """
        address, found = self.addresses.get(broker_id), ""
        if address is None:
            return "it does not answer"
        for attempt in range(self.attempts):
            if attempt:
                self.kafka.clock.sleep(_PAUSE_S)
            try:
                self._may_write()
                self.kafka.write_own(address, BROKER, str(broker_id), edits)
            except RequestRefusedError as error:
                found = str(error)
                if not error.is_outcome_unknown:
                    if error.is_transient:
                        continue
                    return found
            except BrokerCallError as error:
                found = f"the outcome is unknown: {error}"
            except SettingError as error:
                return str(error)
            missing = self._missing(address, broker_id, edits)
            if not missing:
                return ""
            found = f"{found}; {missing}" if found else missing
        return found

    def _missing(self, address: Address, broker_id: int, edits: Mapping[str, str | None]) -> str:
        """Return what is not visible as wanted within the timeout; empty when everything is."""
        deadline = self.kafka.clock.monotonic() + self.verify_timeout_s
        while True:
            try:
                found = self.kafka.read_own(address, BROKER, str(broker_id), [*edits])
            except (BrokerCallError, RequestRefusedError) as error:
                missing = str(error)
            else:
                wrong = [name for name, value in edits.items() if not same_value(own_value(found, name), value)]
                if not wrong:
                    return ""
                missing = "found: " + ", ".join(f"{name} is {_shown(own_value(found, name))}" for name in wrong)
            if self.kafka.clock.monotonic() >= deadline:
                return missing
            self.kafka.clock.sleep(_LOOK_EVERY_S)

    def _may_write(self) -> None:
        try:
            if self.require_lock is not None:
                self.require_lock()
        except JournalError as error:
            raise SettingError(str(error)) from None

    def _address_for(self, change: SettingChange, attempt: int) -> Address:
        """Return the broker to write to: another one at each attempt for a topic, else the broker itself."""
        if change.kind == _TOPIC:
            return [*self.addresses.values()][attempt % len(self.addresses)]
        return self._its_own_address(change)

    def _its_own_address(self, change: SettingChange) -> Address:
        address = self.addresses.get(int(change.resource))
        if address is None:
            raise SettingError(
                f"broker {change.resource} does not answer, and only it takes its own settings: {change.name} is to be "
                f"put back to {_shown(change.original)} once it runs; run again then"
            )
        return address

    def _is_seen(self, change: SettingChange, value: str | None) -> bool:
        deadline = self.kafka.clock.monotonic() + self.verify_timeout_s
        while True:
            try:
                if same_value(self.read_own(change), value):
                    return True
            except (NoBrokerAnswersError, BrokerCallError, RequestRefusedError, SettingError):
                # Not knowing is not failing: the deadline decides.
                pass
            if self.kafka.clock.monotonic() >= deadline:
                return False
            self.kafka.clock.sleep(_LOOK_EVERY_S)


def own_value(settings: Mapping[str, Setting], name: str) -> str | None:
    """Return the resource's own value of a setting, None when it has none."""
    return settings[name].own if name in settings else None


def restore_setting(writer: SettingWriter, journal: Journal, change: SettingChange) -> tuple[Undoing, str]:
    """Restore a setting that is still what we set, and end its change in the journal.

    It is set even where it seems to be back: a read that lags behind the write returns what was before our change.

    Raises JournalError.
    """
    undoing, reason = preview_setting_undo(writer, change)
    if undoing in (Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK):
        try:
            writer.write(change, change.original)
        except SettingError as fault:
            return Undoing.FAILED, str(fault)
    if undoing is Undoing.WOULD_RESTORE:
        undoing, reason = Undoing.RESTORED, f"back to {_shown(change.original)}"
    if undoing is not Undoing.FAILED:
        journal.end([change], undoing.value)
    return undoing, reason


def restore_setting_unless_in_use(
    writer: SettingWriter, journal: Journal, change: SettingChange
) -> tuple[Undoing, str]:
    """Put a setting back, unless it is the throttle of a replica that the journal still has: it may still be copied.

    Raises JournalError.
    """
    reason = why_in_use(change, journal.pending)
    return (Undoing.FAILED, reason) if reason else restore_setting(writer, journal, change)


def why_in_use(change: SettingChange, pending: Sequence[Change]) -> str:
    """Return which replica a throttle is kept for, in words; empty for none."""
    place = (change.kind, change.resource)
    return "; ".join(
        f"it is kept until the replica of {each.topic_partition} on broker {each.broker_id} is back"
        for each in pending
        if isinstance(each, ReplicaChange) and throttled_places(each.topic, each.broker_id).get(place) == change.name
    )


def throttled_places(topic: str, broker_id: int) -> Mapping[tuple[str, str], str]:
    """Return the kind and resource that the throttle of a topic's replica on a broker is set on, each with its name."""
    return {("broker", str(broker_id)): THROTTLE_RATE, ("topic", topic): THROTTLED_REPLICAS}


def preview_setting_undo(writer: SettingWriter, change: SettingChange) -> tuple[Undoing, str]:
    """Says what putting back would do. Writes nothing."""
    try:
        current = writer.read_own(change)
    except RequestRefusedError as fault:
        if change.kind == _TOPIC and fault.code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
            return Undoing.GONE, "the topic does not exist any more"
        return Undoing.FAILED, str(fault)
    except (NoBrokerAnswersError, BrokerCallError, SettingError) as fault:
        return Undoing.FAILED, str(fault)
    if same_value(current, change.original):
        return Undoing.ALREADY_BACK, f"it is {_shown(change.original)}, as it was"
    if same_value(current, change.changed):
        return Undoing.WOULD_RESTORE, f"a run left {change.changed}: back to {_shown(change.original)}"
    return (
        Undoing.CONFLICT,
        f"it is {_shown(current)}, which we did not set; it was {_shown(change.original)}",
    )


def change_and_restore(writer: SettingWriter, journal: Journal, change: SettingChange) -> str:
    """Make a change and restore it at once. Return why it is not restored, or nothing.

    Raises SettingError when it cannot be made, or JournalError before anything was changed.
    """
    undoing, reason = restore_setting(writer, journal, begin_change(writer, journal, change))
    return reason if undoing in (Undoing.FAILED, Undoing.CONFLICT) else ""


def begin_change(writer: SettingWriter, journal: Journal, change: SettingChange) -> SettingChange:
    """Journal first, then the change. One that cannot be made is put back, as far as that can be done.

    Returns it as the journal remembers it. Raises SettingError, or JournalError before anything was changed.
    """
    is_remembered = any(each.key == change.key for each in journal.pending)
    (change,) = journal.begin([change])
    try:
        writer.write(change, change.changed)
    except SettingError as fault:
        if isinstance(fault, SettingRefusedError) and not is_remembered:
            # Nothing was changed, and who may not change it may not put it back either.
            journal.end([change], "refused")
        else:
            restore_setting(writer, journal, change)
        raise
    return change


def _shown(value: str | None) -> str:
    return "not set" if value is None else value
