# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Says in words which broker to start first. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import NO_LEADER
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.controller_model import Rule
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.start_order import ComingBack, StartAdvice


def in_words(advice: StartAdvice) -> str:
    """What the broker is to the partitions without a leader, what will happen when it returns, and what to look at."""
    return "; ".join([f"broker {advice.broker_id}: {_standing(advice)}", *_return(advice), *_care(advice)])


def coming_back_in_words(partition: ComingBack) -> str:
    """What the controller will do about one partition, such as "orders-3: elects broker 1, the last known leader"."""
    clean, unclean = partition.after_clean_stop, partition.after_unclean_stop
    if unclean == clean:
        will = _election(clean.leader_id, clean.rule)
    else:
        will = (
            f"after a clean stop {_election(clean.leader_id, clean.rule)}; "
            f"after an unclean one {_election(unclean.leader_id, unclean.rule)}"
        )
    return f"{partition.topic_partition}: {will}"


def _standing(advice: StartAdvice) -> str:
    only = f", alone for {advice.only_eligible_for}" if advice.only_eligible_for else ""
    eligible = f"in the ISR or ELR of {advice.eligible_for}{only}"
    return f"last leader of {advice.last_leader_of}, {eligible}, replica of {_partitions(advice.replica_of)}"


def _return(advice: StartAdvice) -> Iterator[str]:
    if not advice.always_back and not advice.back_after_clean_stop:
        yield "its return brings none of them back: the controller does not elect it, but it can then be compared"
    if advice.always_back:
        yield f"{_partitions(advice.always_back)} back as soon as it returns, whoever holds more"
    if advice.back_after_clean_stop:
        count = _partitions(advice.back_after_clean_stop)
        yield f"{count} back only if it was stopped cleanly: otherwise it leaves the ELR"


def _care(advice: StartAdvice) -> Iterator[str]:
    if advice.broker is None:
        yield "the controller does not know it: it was unregistered, or never was there"
    elif not advice.broker.is_fenced:
        yield "it is not fenced, but a log dir of it is offline: mend that, then restart it"
    if advice.always_back or advice.back_after_clean_stop:
        yield "start it with its old disk only: it can lead with an empty one too, and the others truncate to nothing"


def _election(leader_id: int, rule: Rule) -> str:
    if leader_id == NO_LEADER:
        return "elects nobody"
    why = {Rule.IN_SYNC: "of the ISR or ELR", Rule.LAST_KNOWN_LEADER: "the last known leader"}.get(rule, rule.value)
    return f"elects broker {leader_id}, {why}"


def _partitions(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"
