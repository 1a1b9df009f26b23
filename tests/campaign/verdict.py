# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the oracle counts in one trial."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from campaign.clients.judge import Anomalies
from lab import versions


@dataclass
class Verdict:
    """The counts of the oracle in one trial. All in ``COUNTED`` must be 0."""

    kind: str
    seed: int
    wrong_elections: int = 0
    """Partitions whose elected leader has a lower (epoch, log end offset) than a reachable replica."""
    records_lost: int = 0
    """Records of reachable replicas that were lost and that an election of the best replica would have kept."""
    outside_forecast: int = 0
    """Partitions whose true loss is not between the forecast's bounds."""
    changed_orders: int = 0
    """Partitions whose replica order was not restored."""
    left_behind: int = 0
    """Run topics that were not deleted."""
    over_limits: int = 0
    tracebacks: int = 0
    not_recovered: int = 0
    """Partitions without a leader after the fault ended and every run was repeated."""
    not_judged: int = 0
    """Trials that the lab or the oracle aborted."""
    lost_writes: int = 0
    duplicates: int = 0
    inconsistent_offsets: int = 0
    aborted_reads: int = 0
    unseen: int = 0
    disorders: int = 0
    repeated_polls: int = 0
    lost_commits: int = 0
    """These eight: anomalies of the clients' histories, outside of what the forecast announced (clients/judge.py)."""
    anomalies_after_replay: int = 0
    """The same after the dead leader's records were saved and replayed, when nothing may be missing any more."""
    replays_refused: int = 0
    """Salvages and replays that ended with an error."""
    acknowledged: int = 0
    """Records of the clients that a leader acknowledged."""
    announced: int = 0
    """Those of them that the elected replicas did not hold. A replay brings them back."""
    group_reads: int = 0
    """What Kafka's own consumer or the share group got, whichever got less, in the trials that have them."""
    hidden: int = 0
    """Trials in which an election left a transaction open, with records behind it. Then it is ended."""
    replays: int = 0
    elections: int = 0
    unknown_forecasts: int = 0
    """Elections whose forecast had no upper bound."""
    faults: int = 0
    """How often the fault was met: with 0, this trial says nothing about it."""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    kafka_version: str = versions.DEFAULT
    commit: str = ""
    """The code that was on trial. With a plus sign, it had changes that were not committed."""

    @property
    def is_clean(self) -> bool:
        """Return whether all counts that should be 0 are 0."""
        return not any(getattr(self, each) for each in COUNTED)


COUNTED = (
    "wrong_elections",
    "records_lost",
    "outside_forecast",
    "changed_orders",
    "left_behind",
    "over_limits",
    "tracebacks",
    "not_recovered",
    "not_judged",
    *(each.name for each in fields(Anomalies)),
    "anomalies_after_replay",
    "replays_refused",
)
