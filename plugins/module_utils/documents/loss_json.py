# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Expected losses, to JSON and back: plans and reports both hold them. Standard library only.

Values that come from JSON have met their schema before they get here.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.expected_loss import ExpectedLoss
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.forecast import LossAgainst
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.log_contents import EpochRange, Stretches


def loss_to_json(loss: ExpectedLoss) -> dict[str, Any]:
    return {
        "brokerId": loss.broker_id,
        "atLeast": loss.at_least,
        "atMost": loss.at_most,
        "moreThanFirst": loss.more_than_first,
        "explanation": loss.explanation,
        "against": [_against_to_json(each) for each in loss.against],
    }


def loss_from_json(value: dict[str, Any]) -> ExpectedLoss:
    return ExpectedLoss(
        broker_id=value["brokerId"],
        at_least=value["atLeast"],
        at_most=value["atMost"],
        more_than_first=value["moreThanFirst"],
        explanation=value["explanation"],
        against=tuple(_against_from_json(each) for each in value["against"]),
    )


def _against_to_json(loss: LossAgainst) -> dict[str, Any]:
    return {
        "brokerId": loss.broker_id,
        "answered": loss.answered,
        "lost": None if loss.lost is None else _stretches_to_json(loss.lost),
        "divergenceOffset": loss.divergence_offset,
        "deleted": _stretches_to_json(loss.deleted),
        "untold": _stretches_to_json(loss.untold),
        "holdsNoMoreThan": loss.holds_no_more_than,
    }


def _against_from_json(value: dict[str, Any]) -> LossAgainst:
    return LossAgainst(
        broker_id=value["brokerId"],
        answered=value["answered"],
        lost=None if value["lost"] is None else _stretches_from_json(value["lost"]),
        divergence_offset=value["divergenceOffset"],
        deleted=_stretches_from_json(value["deleted"]),
        untold=_stretches_from_json(value["untold"]),
        holds_no_more_than=value["holdsNoMoreThan"],
    )


def _stretches_to_json(stretches: Stretches) -> list[list[int]]:
    return [[each.epoch, each.start_offset, each.end_offset] for each in stretches]


def _stretches_from_json(value: list[list[int]]) -> Stretches:
    return tuple(EpochRange(epoch, start, end) for epoch, start, end in value)
