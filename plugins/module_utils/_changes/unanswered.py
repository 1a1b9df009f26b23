# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write requests whose response was lost: for how long they may still be executed.

A KRaft broker keeps a request that it forwards to the controller for 60 s, and sends it again after an error. So it may
be executed long after its sender gave up, and even after its effect was seen once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .._kafka.base_port import BaseKafka
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._model.replica_log import Cause

_FORWARDED_FOR_S = 60.0
"""How long a KRaft broker keeps a request that it forwards to the controller (BrokerServer, retryTimeoutMs)."""
_NOT_SENT = frozenset({Cause.UNREACHABLE, Cause.NOT_AUTHORISED})

NoteUnanswered = Callable[[Iterable[str], float], None]
"""Takes what the request is about (``record.subject_of``), and until when, by the clock, it may be executed."""


def forwarded_for_s(kafka: BaseKafka) -> float:
    """Return for how many seconds a request may be executed whose response was lost, or whose sender died."""
    return _FORWARDED_FOR_S + kafka.settings.request_timeout_ms / 1000


def note_unanswered(
    note: NoteUnanswered | None, kafka: BaseKafka, error: BrokerCallError | RequestRefusedError, subjects: Iterable[str]
) -> None:
    """Note that a request about these may still be executed, unless the error says that it was not sent or refused."""
    is_unknown = error.is_outcome_unknown if isinstance(error, RequestRefusedError) else error.cause not in _NOT_SENT
    if note is not None and is_unknown:
        note(subjects, kafka.clock.monotonic() + forwarded_for_s(kafka))
