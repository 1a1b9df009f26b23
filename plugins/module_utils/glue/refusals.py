# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks that are all made before any of their refusals is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError


class SeveralRefusalsError(KafkaOpsError):
    """More than one thing that was given is refused."""

    def __init__(self, refusals: list[KafkaOpsError]) -> None:
        self.refusals = tuple(refusals)
        super().__init__("\n".join(str(each) for each in refusals))


def all_of(*checks: Callable[[], Any]) -> list[Any]:
    """What each check returns.

    Raises the one KafkaOpsError that was raised, or SeveralRefusalsError, once every check was made.
    """
    values, refusals = [], []
    for check in checks:
        try:
            values.append(check())
        except KafkaOpsError as refusal:
            refusals.append(refusal)
    if len(refusals) > 1:
        raise SeveralRefusalsError(refusals)
    if refusals:
        raise refusals[0]
    return values
