# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remember which brokers did not answer, so that not every batch of elections waits for them again.

A dead broker costs one connection timeout, and a hung one a request_timeout_ms. A hundred batches would wait for
minutes, during which nothing is elected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .._kafka.cluster import Registration
from .._model.partition import Cause, ReplicaLog, TopicPartition

_SILENT = frozenset({Cause.UNREACHABLE, Cause.HUNG})
_PAUSE = 10
"""A silent broker is asked again after this multiple of the time that it took: waits are at most 10 % of a run."""


@dataclass(frozen=True, slots=True)
class _Silence:
    registration: Registration
    cause: Cause
    error: str | None
    until: float
    """When the broker is asked again, by a monotonic clock in seconds."""


@dataclass(frozen=True, slots=True)
class Silences:
    """The brokers that did not answer in this run, and are not asked again for a while.

    A broker is asked at once if its registration changes: it was fenced, it is back, or it has another address.
    """

    _found: dict[int, _Silence] = field(default_factory=dict)

    def forget_changed(self, registrations: Iterable[Registration], now: float) -> None:
        """Forget the brokers to be asked again. ``registrations`` are all that the controller lists now."""
        listed = {each.broker_id: each for each in registrations}
        for broker_id, silence in [*self._found.items()]:
            if listed.get(broker_id) != silence.registration or now >= silence.until:
                del self._found[broker_id]

    def forget_all(self) -> None:
        """Ask every broker again."""
        self._found.clear()

    def rows(self, broker_id: int, partitions: Sequence[TopicPartition]) -> list[ReplicaLog] | None:
        """Return rows with the error of the last question. None if the broker is to be asked."""
        silence = self._found.get(broker_id)
        if silence is None:
            return None
        return [ReplicaLog.failed(each, broker_id, silence.cause, silence.error or "") for each in partitions]

    def remember(self, registration: Registration, rows: Sequence[ReplicaLog], *, began: float, ended: float) -> None:
        """Remember the broker if it did not answer anything."""
        if rows and all(each.cause in _SILENT for each in rows):
            first, until = rows[0], ended + _PAUSE * (ended - began)
            self._found[registration.broker_id] = _Silence(
                registration, first.cause or Cause.UNREACHABLE, first.error, until
            )
