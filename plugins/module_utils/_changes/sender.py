# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Send write requests until their effect is seen. All writes that may be repeated use ``until_seen``.

1. Look right before a request. What is seen is not requested again, and what another party has changed is left alone.
2. Check that this run may write.
3. Send the request to the broker of this attempt. If it cannot be sent, the next broker gets it at once.
4. If it was refused for good, stop. If it was not executed, go to step 6.
5. Look until the effect is seen, or until ``verify_timeout_s`` has passed.
6. Pause, and begin again with what is not seen.

A KRaft broker keeps a request that it forwards to the controller for 60 s, and sends it again after an error. So a
request whose response was lost may be executed late: long after its sender gave up, or a second time after its effect
was seen. The writer notes the subjects of each such request in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from .._kafka.errors import CallError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.run import looks
from .journal import Journal
from .record import JournalError

_PAUSE_S = 0.5
"""The pause before another attempt: a failover of the controller takes seconds."""
_FORWARDED_FOR_S = 60.0
"""The time for which a KRaft broker keeps a forwarded request (BrokerServer, retryTimeoutMs)."""

NEW_TOPIC_S = 2.0
"""The time within which brokers show what a request did to a topic that was just created."""

Answer = TypeVar("Answer")
Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Writer:
    """Send the write requests of this run to brokers in turn.

    A broker that lags behind the controller still shows the old state. So a write counts as failed only after
    ``verify_timeout_s``.
    """

    kafka: Kafka
    addresses: Sequence[Address]
    """Brokers that answered. Each attempt begins with the next of them."""
    attempts: int
    verify_timeout_s: float
    journal: Journal | None = None
    """It has the lock, without which nothing is written, and the subjects of requests whose responses were lost."""

    def with_journal(self, journal: Journal) -> Writer:
        """Return a writer that writes only while this run holds the lock, and notes late requests in the journal."""
        return replace(self, journal=journal)

    def note_doubt_after(self, error: CallError, subjects: Iterable[str]) -> None:
        """Note that a failed request may still be executed, unless it was refused or not sent."""
        if error.may_be_executed and self.journal is not None:
            until = self.kafka.clock.monotonic() + forwarded_for_s(self.kafka)
            self.journal.note_lost_response(subjects, until)

    def why_forbidden(self) -> str:
        """Return why this run must not send a write request now; empty if it may."""
        try:
            if self.journal is not None:
                self.journal.require_lock()
        except JournalError as error:
            return str(error)
        return ""

    def addresses_of_attempt(self, attempt: int) -> list[Address]:
        """Return the broker of an attempt, and then the brokers to use if a connection fails."""
        turns = range(attempt, attempt + min(self.attempts, len(self.addresses)))
        return [self.addresses[turn % len(self.addresses)] for turn in turns]

    def send(self, attempt: int, request: Callable[[Address], Answer]) -> Answer:
        """Send a request to the broker of this attempt. If it could not be sent, send it to the next broker at once.

        Raises RequestRefusedError or BrokerCallError.
        """
        *others, last = self.addresses_of_attempt(attempt)
        for address in others:
            try:
                return request(address)
            except CallError as error:
                if error.was_sent or self.why_forbidden():
                    raise
        return request(last)


def forwarded_for_s(kafka: Kafka) -> float:
    """Return the seconds for which a request may be executed after its response was lost or its sender died."""
    return _FORWARDED_FOR_S + kafka.settings.request_timeout_ms / 1000


def undo_when_shown(kafka: Kafka, undo: Callable[[], str]) -> str:
    """Call ``undo`` until it says what it did to a topic that was just created, for NEW_TOPIC_S. Empty for nothing.

    Brokers apply the creation of the topic and what a request did to it in this order, so a read may find the one
    without the other. A read that fails is tried again.
    """
    for _look in looks(kafka.clock, NEW_TOPIC_S):
        with suppress(CallError):
            if done := undo():
                return done
    return ""


class Seen(NamedTuple):
    """What a look at one subject has found."""

    is_seen: bool
    text: str = ""
    """What was found instead, in words."""
    is_final: bool = False
    """Another party has changed the subject, so that it is not requested (again). ``text`` says how."""


class NotSeen(NamedTuple):
    """Why a change was not seen."""

    reason: str
    may_be_made: bool
    """A request for it was accepted, or its outcome is unknown. If not, this run has changed nothing."""


def until_seen(
    writer: Writer,
    subjects: Collection[Subject],
    send: Callable[[Address, Sequence[Subject]], Mapping[Subject, str | None]],
    look: Callable[[Sequence[Subject]], Mapping[Subject, Seen]],
    *,
    name: Callable[[Subject], str],
    look_again: Callable[[Sequence[Subject]], Mapping[Subject, Seen]] | None = None,
    looks_first: bool = False,
    is_final: Callable[[str], bool] = lambda _error: False,
) -> dict[Subject, NotSeen]:
    """Send a request until its effect on all subjects is seen, and return why it is not seen on the others.

    ``send`` requests the subjects of a list, and returns the error text of each, or None. ``look`` returns what is
    found; without a subject if it cannot be read. It may raise CallError. ``look_again`` is a more thorough look, right
    before another attempt. ``name`` returns a subject's name in the journal.

    With ``looks_first``, a subject that another party has changed is not even requested once. A subject that has the
    wanted state already is requested, because a broker that lags behind the controller may show an old state.
    ``is_final`` says which error texts no further attempt can change.
    """
    waiting, settled = [*subjects], dict[Subject, NotSeen]()
    reasons: dict[Subject, str] = {}
    may_be_made: set[Subject] = set()
    for attempt in range(writer.attempts):
        if attempt:
            writer.kafka.clock.sleep(_PAUSE_S)
        if attempt or looks_first:
            try:
                found = (look_again or look)(waiting) if attempt else look(waiting)
            except CallError as error:
                doubt = (
                    f"not requested{' again' if attempt else ''}, because another party may have changed it: {error}"
                )
                reasons = dict.fromkeys(waiting, doubt)
                continue
            waiting = _settle(waiting, found, settled, may_be_made, accepts_seen=attempt > 0)
        if not waiting:
            break
        if forbidden := writer.why_forbidden():
            reasons = dict.fromkeys(waiting, forbidden)
            break
        answers: Mapping[Subject, str | None] = {}
        missing = "the controller left it out of its answer"
        try:
            answers = writer.send(attempt, lambda to: send(to, waiting))  # noqa: B023 - called at once
        except CallError as error:
            writer.note_doubt_after(error, map(name, waiting))
            if not error.may_be_executed:
                reasons = dict.fromkeys(waiting, str(error))
                if error.is_final:
                    break
                continue
            missing = f"the outcome is unknown: {error}"
        errors = {each: answers.get(each, missing) for each in waiting}
        requested = [each for each, error in errors.items() if error is None or each not in answers]
        may_be_made.update(requested)
        found = _look_until_settled(writer, requested, look)
        waiting = _settle(waiting, found, settled, may_be_made, accepts_seen=True)
        reasons = {each: errors[each] or _describe_unseen(found.get(each)) for each in waiting}
        if all(is_final(each) for each in reasons.values()):
            break
    return settled | {each: NotSeen(reasons[each], each in may_be_made) for each in waiting}


def _look_until_settled(
    writer: Writer, subjects: Sequence[Subject], look: Callable[[Sequence[Subject]], Mapping[Subject, Seen]]
) -> Mapping[Subject, Seen]:
    """Look until all subjects are seen or changed by another party, or until the verify timeout has passed."""
    found: Mapping[Subject, Seen] = {}
    for _look in looks(writer.kafka.clock, writer.verify_timeout_s) if subjects else ():
        with suppress(CallError):
            found = look(subjects)
            if all(each in found and (found[each].is_seen or found[each].is_final) for each in subjects):
                break
    return found


def _settle(
    waiting: Sequence[Subject],
    found: Mapping[Subject, Seen],
    settled: dict[Subject, NotSeen],
    may_be_made: Collection[Subject],
    *,
    accepts_seen: bool,
) -> list[Subject]:
    """Add the subjects that another party has changed to ``settled``, and return those that are not seen yet."""
    settled |= {
        each: NotSeen(found[each].text, each in may_be_made)
        for each in waiting
        if each in found and found[each].is_final
    }
    return [
        each for each in waiting if each not in settled and not (accepts_seen and each in found and found[each].is_seen)
    ]


def _describe_unseen(found: Seen | None) -> str:
    return f"the request was accepted, but {found.text if found is not None else 'it cannot be read'}"
