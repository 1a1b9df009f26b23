# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why the run topic cannot be used, and how long a run waits for it."""

from __future__ import annotations

from dataclasses import dataclass

from .._model.partition import PartitionState
from .record import JournalError
from .run_state import Holder


class LockHeldError(JournalError):
    """Another run holds the lock, and lives."""

    def __init__(self, topic: str, holder: Holder) -> None:
        self.holder = holder
        super().__init__(
            f"another run writes to this cluster: {holder} (topic {topic}). Wait for it to end, or stop it; a run that "
            "died is replaced 15 s after its last heartbeat"
        )


class TopicUnavailableError(JournalError):
    """A topic of this collection cannot be created or used here, and will not be the next time either."""


class TopicOfflineError(JournalError):
    """A topic of this collection has no leader."""

    def __init__(self, state: PartitionState) -> None:
        self.state = state
        super().__init__(
            f"topic {state.topic} (id {state.topic_id}) has no leader: its replicas are on brokers {[*state.replicas]}"
        )


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in seconds. A lease must be shorter than the silence after which others take a holder for dead."""

    beat_s: float = 3.0
    lease_s: float = 8.0
    silence_s: float = 15.0
    timeout_s: float = 12.0
    """How long one operation on the topic is tried."""


USUAL_PACE = Pace()
