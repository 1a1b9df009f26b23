# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Warns of a leader that the controller is about to elect, and that would lose records. Pure; standard library only.

A replica that the controller trusts, a member of the ISR or the last known leader, can have come back with a new disk.
It leads as soon as anything about the partition changes, a mere reorder included, and all others truncate to its empty
log (tried on 3.9.2 and 4.3.1). On 3.9.2 nothing may change for long: the partition waits without a leader.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import NO_LEADER, PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.controller_model import predict
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.forecast import Forecast
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.forecast_words import in_words


def warning(state: PartitionState, acceptable: Collection[int], forecasts: Sequence[Forecast]) -> str | None:
    """What will be lost if nobody acts, and what to do about it. None when nothing is known to be lost.

    ``acceptable`` are the replicas that the controller would take, ``forecasts`` those of all that answered.
    """
    leader = predict(state, state.replicas, acceptable, unclean=False).leader_id
    lossy = next((each for each in forecasts if each.broker_id == leader and each.lost), None)
    if leader == NO_LEADER or lossy is None:
        return None
    return (
        f"the controller elects broker {leader} by itself, at the next change of the partition; {in_words(lossy)}. "
        f"To keep these records, stop broker {leader} first, and only then recover the partition"
    )
