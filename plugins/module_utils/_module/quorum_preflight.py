# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the quorum can bear what a run is about to do, for roles that are about other things than the quorum.

Asks whether the quorum can bear what a module is about to ask of the controller (KIP-996, KIP-853).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._kafka.wire import Wire
from .._model.run import KafkaOpsError
from .._quorum.observe import observe_quorum
from .._quorum.verdict import Verdict, may_elect
from .arguments import Arguments


def elections_allowed(wire: Wire) -> Verdict:
    """Judge whether elections may be requested, by one look through any broker (DESCRIBE on the cluster).

    Takes up to two request_timeout_ms where the quorum has no leader: brokers wait for one.

    Raises NoBrokerAnswersError when no broker answers at all, and RequestRefusedError when our principal may not ask.
    """
    return may_elect(observe_quorum(wire))


QUORUM_PREFLIGHT = Arguments(argument_spec={"ignore_quorum": {"type": "bool", "default": False}})


class NoQuorumError(KafkaOpsError):
    """The controller quorum cannot take a change now, or its state is unknown."""


def require_quorum(wire: Wire, params: Mapping[str, Any], judge: Callable[[Wire], Verdict] = elections_allowed) -> None:
    """Refuse with every reason where the quorum cannot bear elections. ``ignore_quorum`` skips the check.

    Raises NoQuorumError, NoBrokerAnswersError or RequestRefusedError.
    """
    if params["ignore_quorum"]:
        return
    verdict = judge(wire)
    if not verdict.allowed:
        reasons = "; ".join(verdict.reasons)
        raise NoQuorumError(
            f"{reasons}. Nothing was asked of the controller: bring the quorum back first (playbook "
            "kafkaops.recovery.check_quorum shows its state), or set ignore_quorum (of a role: its variable that ends "
            "in _ignore_quorum)"
        )
