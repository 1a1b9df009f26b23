# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is known of one broker. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BrokerState(StrEnum):
    """What a broker was found to be, from here and from the controller."""

    ONLINE = "online"
    """Unfenced, and it answered us."""
    FENCED = "fenced"
    """The controller fences it, or lists no address for it: it can lead nothing now."""
    UNREACHABLE = "unreachable"
    """No connection from here. That is not "down": the controller may well hear it."""
    HUNG = "hung"
    """It accepts connections and answers nothing within the limit."""
    NOT_AUTHORISED = "not_authorised"
    """It refuses our credentials, or our principal lacks the ACL."""


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker, with what the controller says of it and what we saw ourselves."""

    broker_id: int
    host: str | None
    """Advertised host, None when the controller lists none (a fenced broker before Kafka 4.0)."""
    port: int | None
    rack: str | None
    is_fenced: bool
    state: BrokerState
    cause: str = ""
    """Why it is in this state, for a person; empty when online."""
