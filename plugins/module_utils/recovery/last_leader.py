# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who led a partition before it lost its leader. Pure; standard library only."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState


def last_leader(state: PartitionState) -> int | None:
    """The broker that led this leaderless partition last; None where the metadata does not tell.

    With ELR on, the controller notes it as the only member of the last known ELR when it empties the ISR. With ELR
    off, the ISR keeps its last member, and a leader is always in the ISR.
    """
    told = state.isr or state.last_known_elr or ()
    return told[0] if len(told) == 1 else None
