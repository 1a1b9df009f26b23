# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the ticket of somebody who is stopping brokers. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from .fields import BrokerId, Meta, Time
from .reasons import agreeing, named

TICKET_TOPIC = "_kafkaops_stops"
TICKET_TIME = "%Y-%m-%dT%H:%M:%SZ"
_SKEW = timedelta(seconds=60)
"""How much the clocks of two controllers may differ. A ticket counts as expired only after that time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopTicket:
    """Brokers that somebody is stopping."""

    ticket_id: str
    """The id of the run that took it."""
    brokers: Annotated[tuple[BrokerId, ...], Meta(description="the brokers are a list of ids")]
    racks: Annotated[tuple[str, ...], Meta(description="the racks are a list")]
    """The racks of these brokers when it was taken."""
    owner: str
    job: str
    """AWX job id; empty outside AWX."""
    since: Time
    until: Time
    """If it is not renewed or released by then, its owner counts as dead, and anybody may take it over.

    By the active controller's clock, as ``since``: the clocks of the hosts that take tickets may differ.
    """

    @property
    def stopped(self) -> str:
        """The brokers and their racks, in words."""
        racks = f" of {named('rack', self.racks)}" if self.racks else ""
        return f"{named('broker', self.brokers, 20)}{racks}"

    def __str__(self) -> str:
        verb = agreeing("are", len(self.brokers))
        job = f", AWX job {self.job}" if self.job else ""
        return f"{self.stopped} {verb} being stopped by {self.owner}{job}, since {self.since}, until {self.until}"

    @property
    def expires(self) -> datetime:
        """When it expires, in UTC. Raises ValueError if ``until`` is not a time."""
        return datetime.strptime(self.until, TICKET_TIME).replace(tzinfo=UTC)

    def is_expired(self, now: datetime | None) -> bool:
        """Return whether the time is over by the active controller's clock. At an unknown time, it is not."""
        return now is not None and now > self.expires + _SKEW
