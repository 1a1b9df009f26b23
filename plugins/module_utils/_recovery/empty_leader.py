# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuse to elect an empty log if records may exist elsewhere. Pure; standard library only.

After such an election the partition is empty: every other replica, also one whose broker returns later, deletes all its
records, and offsets start again where the empty log ends. This needs an option of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._model.log_contents import offset_range
from .._model.partition import PartitionState
from .._model.reasons import name_brokers
from .candidate import Candidate, Flag
from .forecast import LossAgainst

ALLOW_EMPTY = "accept that by unclean_recovery_allow_empty_leader (allow_empty_leader)"


def is_empty(log: Candidate) -> bool:
    """Return whether a log holds no record. Records of a tiered topic may be in the tier."""
    return log.log_end_offset == log.log_start_offset and Flag.LOCAL_ONLY not in log.flags


def explain_empty_leader(
    state: PartitionState, leader: Candidate, candidates: Sequence[Candidate], against: Sequence[LossAgainst]
) -> str | None:
    """Return why electing an empty log is refused. None if its log is not empty, or if nothing can be lost by it.

    ``against`` is the leader's forecast. Nothing can be lost if the partition never had a leader, or if every other
    replica is empty too, or is known to hold nothing more.
    """
    evidence = [*_find_evidence(state, leader, candidates, against)] if is_empty(leader) else []
    if not evidence:
        return None
    return (
        f"the log of broker {leader.broker_id} is empty, so that its election leaves the partition empty for good: "
        f"{'; '.join(evidence)}; {ALLOW_EMPTY}"
    )


def _find_evidence(
    state: PartitionState, leader: Candidate, candidates: Sequence[Candidate], against: Sequence[LossAgainst]
) -> Iterator[str]:
    for each in candidates:
        if each.log_end_offset > each.log_start_offset and each.broker_id != leader.broker_id:
            held = offset_range(each.log_start_offset, each.log_end_offset)
            yield f"broker {each.broker_id} holds offset{'s' if ' ' in held else ''} {held}"
        elif each.log_end_offset > leader.log_end_offset:
            yield f"the log of broker {each.broker_id} ended at {each.log_end_offset}, so records were written"
    silent = [each.broker_id for each in against if not each.is_bounded]
    if silent and state.leader_epoch > 0:
        yield (
            f"what {name_brokers(silent)} may hold is unknown, and the partition had a leader (its leader epoch is "
            f"{state.leader_epoch})"
        )
