# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The only writer of settings for a while: journal first, then the change, then exactly what was there before.

"Unset" is put back by DELETE, so that value *and source* end as they began.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.cleaner_journal import (
    CleanerJournal,
    SettingChange,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
    RequestRefusedError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.own_configs import (
    BROKER,
    TOPIC,
    read_own,
    write_own,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.setting import Setting, same_value

_LOOK_EVERY_S = 0.1
_PAUSE_S = 0.5
_TOPIC = "topic"
_KINDS = {"broker": BROKER, _TOPIC: TOPIC}


class SettingError(KafkaOpsError):
    """A setting was not seen to change as asked. The journal still holds what is to be put back."""


class SettingRefusedError(SettingError):
    """Every attempt was refused: nothing was changed."""


class Undoing(StrEnum):
    """What became of a change that an earlier run left."""

    RESTORED = "restored"
    WOULD_RESTORE = "would_restore"
    ALREADY_BACK = "already_back"
    CONFLICT = "conflict"
    """Somebody else set it meanwhile: it is theirs, and stays."""
    GONE = "gone"
    FAILED = "failed"
    """Still in the journal: the next run tries again."""


@dataclass(frozen=True, slots=True)
class SettingWriter:
    """Writes settings over one wire. Each broker's own settings go to that broker."""

    wire: Wire
    addresses: Mapping[int, Address]
    """Of the living brokers."""
    attempts: int
    verify_timeout_s: float

    def current(self, change: SettingChange) -> str | None:
        """The value that the resource itself has now; None when none is set.

        Raises SettingError, NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
        """
        found = self.in_force(change)
        return found.own if found is not None else None

    def in_force(self, change: SettingChange) -> Setting | None:
        """The value that holds now, wherever it is from; None when the broker tells none.

        Raises SettingError, NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
        """
        address = None if change.kind == _TOPIC else self._its_own_address(change)
        return read_own(self.wire, address, _KINDS[change.kind], change.resource, [change.name]).get(change.name)

    def write(self, change: SettingChange, value: str | None) -> None:
        """Sets it, or deletes it (None), and returns once it is read back.

        Raises SettingError.
        """
        fault, may_be_changed = "", False
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(_PAUSE_S)
            try:
                address = self._address_for(change, attempt)
                write_own(self.wire, address, _KINDS[change.kind], change.resource, {change.name: value})
            except RequestRefusedError as refusal:
                fault = str(refusal)
                may_be_changed |= refusal.is_outcome_unknown
                if not refusal.is_transient and not refusal.is_outcome_unknown:
                    break
            except BrokerCallError as unknown:
                # It may have been carried out: looking tells.
                fault, may_be_changed = f"the outcome is unknown: {unknown}", True
            else:
                fault, may_be_changed = "it was accepted, and is not seen", True
            if self._is_seen(change, value):
                return
        told = f"{change.name} of {change.kind} {change.resource} cannot be brought to {_shown(value)}: {fault}"
        raise SettingError(told) if may_be_changed else SettingRefusedError(told)

    def _address_for(self, change: SettingChange, attempt: int) -> Address:
        """A topic's settings go to any broker, another one at each attempt; a broker's own only to itself."""
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
        deadline = time.monotonic() + self.verify_timeout_s
        while True:
            try:
                if same_value(self.current(change), value):
                    return True
            except (NoBrokerAnswersError, BrokerCallError, RequestRefusedError, SettingError):
                # Not knowing is not failing: the deadline decides.
                pass
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_EVERY_S)


def own_of(settings: Mapping[str, Setting], name: str) -> str | None:
    """The resource's own value of a setting, None when it has none."""
    return settings[name].own if name in settings else None


def put_back(writer: SettingWriter, journal: CleanerJournal, change: SettingChange) -> tuple[Undoing, str]:
    """Puts a setting back to what it was, when it is still what we set, and strikes it out of the journal.

    It is set even where it seems to be back: a read that lags behind the write tells what was before our change.

    Raises JournalError.
    """
    undoing, reason = look_at_setting(writer, change)
    if undoing in (Undoing.WOULD_RESTORE, Undoing.ALREADY_BACK):
        try:
            writer.write(change, change.original)
        except SettingError as fault:
            return Undoing.FAILED, str(fault)
    if undoing is Undoing.WOULD_RESTORE:
        undoing, reason = Undoing.RESTORED, f"back to {_shown(change.original)}"
    if undoing is not Undoing.FAILED:
        journal.end(change, undoing.value)
    return undoing, reason


def look_at_setting(writer: SettingWriter, change: SettingChange) -> tuple[Undoing, str]:
    """Says what putting back would do. Writes nothing."""
    try:
        current = writer.current(change)
    except RequestRefusedError as fault:
        if change.kind == _TOPIC and fault.code == 3:  # noqa: PLR2004  # UNKNOWN_TOPIC_OR_PARTITION
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


def changed_for_a_moment(writer: SettingWriter, journal: CleanerJournal, change: SettingChange) -> str:
    """Makes a change and puts it back at once. Returns why it is not back, and nothing when it is.

    Raises SettingError when it cannot be made, or JournalError before anything was changed.
    """
    undoing, reason = put_back(writer, journal, begin_change(writer, journal, change))
    return reason if undoing in (Undoing.FAILED, Undoing.CONFLICT) else ""


def begin_change(writer: SettingWriter, journal: CleanerJournal, change: SettingChange) -> SettingChange:
    """Journal first, then the change. One that cannot be made is put back, as far as that can be done.

    Returns it as the journal remembers it. Raises SettingError, or JournalError before anything was changed.
    """
    is_remembered = any(each.key == change.key for each in journal.unfinished)
    change = journal.begin(change)
    try:
        writer.write(change, change.changed)
    except SettingError as fault:
        if isinstance(fault, SettingRefusedError) and not is_remembered:
            # Nothing was changed, and who may not change it may not put it back either.
            journal.end(change, "refused")
        else:
            put_back(writer, journal, change)
        raise
    return change


def _shown(value: str | None) -> str:
    return "not set" if value is None else value
