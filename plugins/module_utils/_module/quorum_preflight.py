# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check before a write that the controller quorum can commit it (KIP-996, KIP-853).

For modules that do not change the quorum itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeAlias

from .._kafka.settings import ConnectionSettings, ControllerListeners
from .._kafka.wire import Wire
from .._model.background import in_background
from .._model.quorum import SeenLeader
from .._model.run import FRESH_S, Clock, KafkaOpsError
from .._quorum.observe import observe_quorum
from .._quorum.verdict import Verdict, is_settled, may_elect
from .connection import CONTROLLERS, Arguments

QUORUM_PREFLIGHT = CONTROLLERS + Arguments(
    argument_spec={
        "ignore_quorum": {"type": "bool", "default": False},
        "quorum_window_ms": {"type": "int", "default": 3000},
    }
)

QUORUM_SEEN = Arguments(
    argument_spec={
        "quorum_seen": {
            "type": "dict",
            "options": {name: {"type": "int", "required": True} for name in SeenLeader.__annotations__},
        }
    }
)


class NoQuorumError(KafkaOpsError):
    """The controller quorum cannot commit a change now, or its state is unknown."""


Observe: TypeAlias = Callable[[ConnectionSettings, ControllerListeners, "SeenLeader | None", int], Verdict]


def judge_elections(
    settings: ConnectionSettings, controllers: ControllerListeners, earlier: SeenLeader | None, window_ms: int
) -> Verdict:
    """Observe the quorum over its own connections, and judge whether elections may be requested.

    It is observed for ``window_ms`` after the first answer, or until it is settled. If the quorum has no leader, that
    answer takes up to two request_timeout_ms, because brokers wait for a leader. Needs DESCRIBE on the cluster.

    Raises NoBrokerAnswersError if no broker answers, and RequestRefusedError if our principal may not ask.
    """
    with Wire(settings, controllers) as wire:
        return may_elect(observe_quorum(wire, window_ms=window_ms, earlier=earlier, is_enough=is_settled))


class QuorumCheck:
    """Observes the quorum in the background, in parallel with other reads.

    In check mode, in which nothing is written, the window is 0. ``ignore_quorum`` skips the check.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        controllers: ControllerListeners,
        params: Mapping[str, Any],
        *,
        check_mode: bool = False,
        observe: Observe = judge_elections,
        clock: Clock = time,
    ) -> None:
        seen = params.get("quorum_seen")
        self._judge = partial(observe, settings, controllers, SeenLeader(**seen) if seen else None)
        self._clock = clock
        self._begun: Future[tuple[Verdict, float]] | None = None
        if params["ignore_quorum"]:
            return
        window_ms = 0 if check_mode else max(0, params["quorum_window_ms"])
        # In the background, because a run that ends without a write must not wait for it.
        self._begun = in_background(partial(self._observe, window_ms), "quorum-check")

    def _observe(self, window_ms: int) -> tuple[Verdict, float]:
        return self._judge(window_ms), self._clock.monotonic()

    def require(self) -> None:
        """Wait for the end of the window, and raise if elections may not be requested.

        Raises NoQuorumError with every reason, NoBrokerAnswersError, RequestRefusedError or SettingsError.
        """
        if self._begun is None:
            return
        verdict, ended = self._begun.result()
        if verdict.allowed and self._clock.monotonic() - ended > FRESH_S:
            verdict = self._judge(0)
        if not verdict.allowed:
            reasons = "; ".join(verdict.reasons)
            raise NoQuorumError(
                f"{reasons}. Nothing was asked of the controller: bring the quorum back first (playbook "
                "kafkaops.recovery.check_quorum shows its state), or set ignore_quorum (of a role: its variable that "
                "ends in _ignore_quorum)"
            )


def require_quorum(
    wire: Wire, params: Mapping[str, Any], *, check_mode: bool = False, observe: Observe = judge_elections
) -> None:
    """Observe the quorum now, and raise as ``QuorumCheck.require`` does."""
    QuorumCheck(wire.settings, wire.controllers, params, check_mode=check_mode, observe=observe).require()
