# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sum up what a play found on many clusters, for the terminal and as a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from .blocks import Cell, ReportTable, Section
from .page import Page


class ClusterState(StrEnum):
    """How the play ended on one host. Those that need somebody come first."""

    UNREACHABLE = "unreachable"
    """Ansible could not reach the host."""
    FAILED = "failed"
    DONE = "done"
    LEFT = "left"
    """Another host of the play acted for the same cluster."""

    @property
    def needs_somebody(self) -> bool:
        """True if nobody knows the cluster's state, or if it is bad."""
        return self in (ClusterState.UNREACHABLE, ClusterState.FAILED)

    @property
    def tone(self) -> str:
        """Return the tone of a cell."""
        return "bad" if self.needs_somebody else "good" if self is ClusterState.DONE else ""


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """What a play found on one cluster."""

    host: str
    """The name in the inventory."""
    state: ClusterState
    verdict: str
    """The verdict that the play printed, or why it failed."""
    report_file: str = ""
    """Absolute path on the Ansible controller, or on the host if that is another one."""
    html: str = ""


def sort_clusters(clusters: Sequence[ClusterSummary]) -> list[ClusterSummary]:
    """Return those that need somebody first, each kind by host."""
    states = [*ClusterState]
    return sorted(clusters, key=lambda each: (states.index(each.state), each.host))


def describe_fleet(clusters: Sequence[ClusterSummary]) -> str:
    """Return how many clusters need somebody, in one sentence."""
    acted = [each for each in clusters if each.state is not ClusterState.LEFT]
    bad = sum(each.state.needs_somebody for each in acted)
    # Not "all is well": an election that was allowed to lose records is done, too.
    return f"{bad:,} of {len(acted):,} clusters need you" if bad else f"Done on all {len(acted):,} clusters"


def build_fleet_page(clusters: Sequence[ClusterSummary], directory: str) -> Page:
    """Build the page of all clusters. ``directory`` is where it will be: links to other pages are relative to it."""
    rows = tuple(
        (
            Cell(each.host),
            Cell(each.state.value, each.state.tone),
            Cell(each.verdict),
            Cell(each.html or each.report_file, link=os.path.relpath(each.html, directory) if each.html else ""),
        )
        for each in sort_clusters(clusters)
    )
    needs_somebody = any(each.state.needs_somebody for each in clusters)
    return Page(
        "Kafka clusters",
        describe_fleet(clusters),
        "bad" if needs_somebody else "good",
        (("Clusters", f"{len(clusters):,}"),),
        (Section("Clusters", (ReportTable("By cluster", ("Cluster", "State", "Verdict", "Report"), rows),)),),
    )
