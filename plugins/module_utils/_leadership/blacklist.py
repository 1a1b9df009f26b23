# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the list of deprioritized brokers (KIP-491), for all topics and by topic pattern. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import reduce
from typing import Annotated, TypeAlias

from .._model.fields import INT32_MAX, BrokerId, Meta, WrittenAs
from .._model.run import KafkaOpsError

_PATTERN = re.compile(r"[a-zA-Z0-9._*?-]{1,249}")


class BlacklistError(KafkaOpsError):
    """The requested list is not valid. The text names all errors."""


class Change(StrEnum):
    """How the named brokers change the list."""

    PRESENT = "present"
    ABSENT = "absent"
    EXACT = "exact"
    """The named brokers become the whole list."""


_Brokers: TypeAlias = Annotated[tuple[BrokerId, ...], Meta(description="listed brokers are a list of broker ids")]


@dataclass(frozen=True, slots=True)
class ListOfTopics:
    """The brokers that are deprioritized for the topics that match a pattern, in a report."""

    pattern: str
    brokers: _Brokers


def _lists(by_topic: Mapping[str, tuple[int, ...]]) -> tuple[ListOfTopics, ...]:
    return tuple(ListOfTopics(pattern, brokers) for pattern, brokers in by_topic.items())


@dataclass(frozen=True, slots=True)
class Blacklist:
    """The deprioritized brokers. Broker ids and patterns are sorted, and each pattern has brokers."""

    brokers: _Brokers = ()
    """Those for all topics: the KIP's dynamic config."""
    by_topic: Annotated[
        Mapping[str, tuple[int, ...]],
        WrittenAs(Annotated[tuple[ListOfTopics, ...], Meta(description="the lists of topics are a list")], _lists),
    ] = field(default_factory=dict)
    """Those for the topics that match a pattern (the KIP's "future enhancement"), in addition to ``brokers``."""

    def __bool__(self) -> bool:
        return bool(self.brokers or self.by_topic)

    @property
    def config_value(self) -> str | None:
        """The value of preferred_leader_blacklist; None for an empty list, which deletes the config."""
        return ",".join(map(str, self.brokers)) or None

    @property
    def all_brokers(self) -> frozenset[int]:
        """The brokers that are listed for all topics or for a pattern."""
        return frozenset(self.brokers).union(*self.by_topic.values())

    def listed_for(self, topic: str) -> frozenset[int]:
        """Return the brokers that come last in the orders of a topic."""
        matching = (brokers for pattern, brokers in self.by_topic.items() if matches(topic, [pattern]))
        return frozenset(self.brokers).union(*matching)

    def with_change(self, change: Change, brokers: Collection[int], patterns: Collection[str] = ()) -> Blacklist:
        """Return the list after a change.

        The change applies to the list for all topics or, if patterns are given, to the list of each pattern. EXACT
        without brokers and patterns empties all lists, which restores all orders.
        """
        if change is Change.EXACT and not brokers and not patterns:
            return Blacklist()
        if not patterns:
            return Blacklist(_changed(self.brokers, change, brokers), self.by_topic)
        return reduce(lambda earlier, pattern: earlier._with(pattern, change, brokers), patterns, self)

    def _with(self, pattern: str, change: Change, brokers: Collection[int]) -> Blacklist:
        changed = {**self.by_topic, pattern: _changed(self.by_topic.get(pattern, ()), change, brokers)}
        return Blacklist(self.brokers, {each: changed[each] for each in sorted(changed) if changed[each]})


def matches(topic: str, patterns: Iterable[str]) -> bool:
    """Return whether a topic matches one of the patterns: * matches any characters, ? matches one."""
    return any(fnmatchcase(topic, pattern) for pattern in patterns)


def parse_config_value(text: str) -> tuple[int, ...]:
    """Parse a value of preferred_leader_blacklist, written by this collection or by a person.

    Raises BlacklistError.
    """
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    if not all(entry.isascii() and entry.isdigit() for entry in entries):
        raise BlacklistError(f"preferred_leader_blacklist is {text!r}, which is not a list of broker ids")
    return tuple(sorted({int(entry) for entry in entries}))


def check_request(brokers: Collection[int], patterns: Collection[str]) -> None:
    """Raise BlacklistError, which names all errors of the request."""
    errors = [
        f"{each} is not a broker id: give a number from 0 to {INT32_MAX}"
        for each in brokers
        if not 0 <= each <= INT32_MAX
    ]
    errors += [
        f"{each!r} is not a topic pattern: use the characters of topic names, * for any and ? for one"
        for each in patterns
        if not _PATTERN.fullmatch(each)
    ]
    if errors:
        raise BlacklistError("; ".join(errors))


def _changed(listed: tuple[int, ...], change: Change, brokers: Collection[int]) -> tuple[int, ...]:
    match change:
        case Change.PRESENT:
            return tuple(sorted({*listed, *brokers}))
        case Change.ABSENT:
            return tuple(sorted({*listed}.difference(brokers)))
        case Change.EXACT:
            return tuple(sorted({*brokers}))


def require_registered(named: Iterable[int], listed: Blacklist, registered: Collection[int]) -> None:
    """Raise BlacklistError for brokers that are not registered: a run with a mistyped id would succeed without effect.

    A broker that is ``listed`` already need not be registered.
    """
    if unknown := _find_unknown(named, listed, registered):
        raise BlacklistError(
            f"not registered with this cluster: broker {', '.join(map(str, unknown))}; registered are "
            f"{', '.join(map(str, sorted(registered)))}. Nothing was changed: correct the broker ids. A controller "
            "that is no broker leads no partition"
        )


def warn_of_unknown(named: Iterable[int], listed: Blacklist, registered: Collection[int]) -> tuple[str, ...]:
    """Return a warning about brokers to take off the list that are neither on it nor registered.

    It is no error: a run that is repeated after a broker was removed from the cluster finds the same.
    """
    if unknown := _find_unknown(named, listed, registered):
        on_it = ", ".join(map(str, sorted(listed.all_brokers))) or "no broker"
        return (
            f"broker {', '.join(map(str, unknown))} is not registered with this cluster, and is not on the list, which "
            f"has {on_it}: if the id is mistyped, nothing was restored for the broker that was meant",
        )
    return ()


def _find_unknown(named: Iterable[int], listed: Blacklist, registered: Collection[int]) -> list[int]:
    return sorted({*named} - {*registered} - listed.all_brokers)
