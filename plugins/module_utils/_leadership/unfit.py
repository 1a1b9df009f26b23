# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep leaders away from brokers that cannot lead, although the controller would elect them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import Broker
from .moves import Move, MoveStatus


@dataclass(slots=True)
class Unfit:
    """The brokers that no leader moves to, although the controller has not fenced them."""

    silent: Mapping[int, Broker]
    """They do not answer."""
    why: Mapping[int, str] = field(init=False)
    """What is wrong with each of them. Every partition is judged by it."""

    def __post_init__(self) -> None:
        self.why = dict.fromkeys(self.silent, "does not answer")

    def look_for_late(self, kafka: Kafka, addresses: Mapping[int, Address], moves: Iterable[Move]) -> bool:
        """Ask the brokers that these moves could elect, and return whether one of them applies metadata late.

        One that is elected does not know it, and the former leader leads no more.
        """
        wanted = {each for move in moves if move.status is MoveStatus.WOULD_MOVE for each in move.isr}
        late = kafka.find_late({each: addresses[each] for each in sorted(wanted & addresses.keys())})
        self.why = dict.fromkeys(late, "applies metadata late") | dict.fromkeys(self.silent, "does not answer")
        return bool(late)
