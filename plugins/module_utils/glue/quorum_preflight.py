# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks whether the quorum can bear what a module is about to ask of the controller (KIP-996, KIP-853)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.quorum_verdict import elections_allowed

QUORUM_PREFLIGHT = Arguments(argument_spec={"ignore_quorum": {"type": "bool", "default": False}})


class NoQuorumError(KafkaOpsError):
    """The controller quorum cannot take a change now, or it cannot be told."""


def require_quorum(wire: Wire, params: Mapping[str, Any]) -> None:
    """Refuses, with every reason, where the quorum cannot bear elections. ``ignore_quorum`` skips the question.

    Raises NoQuorumError, NoBrokerAnswersError or RequestRefusedError.
    """
    if params["ignore_quorum"]:
        return
    verdict = elections_allowed(wire)
    if not verdict.allowed:
        reasons = "; ".join(verdict.reasons)
        raise NoQuorumError(
            f"{reasons}. Nothing was asked of the controller: bring the quorum back first (playbook "
            "kafkaops.recovery.check_quorum tells how it is), or set ignore_quorum (of a role: its variable that ends "
            "in _ignore_quorum)"
        )
