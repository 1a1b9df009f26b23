# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the quorum can bear what a module is about to ask of the controller (KIP-996, KIP-853).

For modules that are about other things than the quorum.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from .._kafka.settings import ConnectionSettings
from .._kafka.wire import Wire
from .._model.background import in_background
from .._model.quorum import SeenLeader
from .._model.run import Clock, KafkaOpsError
from .._quorum.observe import observe_quorum
from .._quorum.verdict import Verdict, may_elect
from .connection import CONTROLLERS, Arguments, controller_addresses, controller_settings

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
    """The controller quorum cannot take a change now, or its state is unknown."""


Observe = Callable[[ConnectionSettings, Mapping[str, Any], int], Verdict]


def judge_elections(settings: ConnectionSettings, params: Mapping[str, Any], window_ms: int) -> Verdict:
    """Judge whether elections may be requested (DESCRIBE on the cluster), over connections of its own.

    The quorum is observed for ``window_ms`` from the first look on. That one takes up to two request_timeout_ms where
    the quorum has no leader: brokers wait for one.

    Raises NoBrokerAnswersError when no broker answers at all, and RequestRefusedError when our principal may not ask.
    """
    seen = params.get("quorum_seen")
    earlier = SeenLeader(**seen) if seen else None
    with Wire(settings, controller_settings(params)) as wire:
        return may_elect(observe_quorum(wire, controller_addresses(params), window_ms=window_ms, earlier=earlier))


_FRESH_S = 3.0
"""Seconds for which a verdict counts. Who writes later looks once more."""


class QuorumCheck:
    """Observes the quorum in the background from now on, so that other reading takes place meanwhile.

    In check mode, where nothing is written, it is one look. ``ignore_quorum`` skips it.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        params: Mapping[str, Any],
        *,
        check_mode: bool = False,
        observe: Observe = judge_elections,
        clock: Clock = time,
    ) -> None:
        self._look = partial(observe, settings, params)
        self._clock = clock
        self._begun: Future[tuple[Verdict, float]] | None = None
        if params["ignore_quorum"]:
            return
        window_ms = 0 if check_mode else max(0, params["quorum_window_ms"])
        # A run that ends without a write does not wait for it.
        self._begun = in_background(partial(self._observe, window_ms), "quorum-check")

    def _observe(self, window_ms: int) -> tuple[Verdict, float]:
        return self._look(window_ms), self._clock.monotonic()

    def require(self) -> None:
        """Wait for the end of the window, and refuse with every reason where the quorum cannot bear elections.

        Raises NoQuorumError, NoBrokerAnswersError, RequestRefusedError or SettingsError.
        """
        if self._begun is None:
            return
        verdict, ended = self._begun.result()
        if verdict.allowed and self._clock.monotonic() - ended > _FRESH_S:
            verdict = self._look(0)
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
    QuorumCheck(wire.settings, params, check_mode=check_mode, observe=observe).require()
