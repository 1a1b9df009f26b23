# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the quorum can bear what a run is about to do, for roles that are about other things than the quorum."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.quorum_observation import observe_quorum
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.verdict import Verdict, may_elect


def elections_allowed(wire: Wire) -> Verdict:
    """Whether elections may be asked for, by one look through any broker (DESCRIBE on the cluster).

    Takes up to two request_timeout_ms where the quorum has no leader: brokers wait for one.

    Raises NoBrokerAnswersError when no broker answers at all, and RequestRefusedError when our principal may not ask.
    """
    return may_elect(observe_quorum(wire))
