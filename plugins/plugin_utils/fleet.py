# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Collect what the tasks of a play say of each host's cluster, and print it as one table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._report.fleet import (
    ClusterState,
    ClusterSummary,
    describe_fleet,
    sort_clusters,
)

from .page import Block, Heading, Line, Paragraph, Row, Table

_OURS = "kafkaops.recovery."
_LINES = "kafkaops.recovery.printed_lines"
"""Prints the verdict of a play without tables, as its first line. Tables come after further lines, and say more."""
_ACTS = "kafka_connection_acting_host"
"""The fact by which the hosts of one cluster know which of them acts (roles/kafka_connection/tasks/one_host.yml)."""


class Fleet:
    """What is known of each host so far."""

    def __init__(self) -> None:
        self._summaries: dict[str, Mapping[str, Any]] = {}
        self._failures: dict[str, tuple[ClusterState, str]] = {}
        self._left: dict[str, str] = {}
        self._seen: set[str] = set()
        self._without: set[str] = set()

    def note(self, host: str, action: str, result: Mapping[str, Any]) -> None:
        """Note what a task returned. Only tasks of this collection count, and the choice of the host that acts."""
        if action.startswith(_OURS):
            self._seen.add(host)
            self._without.discard(host)
            if action.endswith("_tables") or (action == _LINES and host not in self._summaries):
                self._summaries[host] = result
        acting = result.get("ansible_facts", {}).get(_ACTS, host)
        if acting != host:
            self._left[host] = acting

    def note_failure(self, host: str, action: str, result: Mapping[str, Any]) -> None:
        """Note why a task failed. A task that prints a summary names its files, too."""
        self.note(host, action, result)
        self._failures.setdefault(host, (ClusterState.FAILED, _first_line(result.get("msg", "a task failed"))))

    def note_unreachable(self, host: str, result: Mapping[str, Any]) -> None:
        """Note why a host was not reached."""
        why = _first_line(result.get("msg", "it does not answer"))
        self._failures.setdefault(host, (ClusterState.UNREACHABLE, why))

    def leave_out(self, host: str) -> None:
        """Note that a host stands for no cluster, until a task says otherwise."""
        self._without.add(host)

    def clusters(self, hosts: Collection[str]) -> tuple[ClusterSummary, ...]:
        """Return what is known of these hosts' clusters. Empty if no task of this collection ran."""
        return tuple(self._cluster(each) for each in hosts if each not in self._without) if self._seen else ()

    def _cluster(self, host: str) -> ClusterSummary:
        summary = self._summaries.get(host, {})
        state, why = self._failures.get(host, (ClusterState.DONE, ""))
        if host in self._left and host not in self._failures:
            return ClusterSummary(host, ClusterState.LEFT, f"{self._left[host]} acted for this cluster")
        if not summary and host not in self._failures:
            # Missing data is no verdict: a play can end before it prints one.
            state, why = ClusterState.FAILED, "the play ended without a verdict"
        files = summary.get("invocation", {}).get("module_args", {})
        return ClusterSummary(
            host, state, why or summary.get("verdict", ""), files.get("report_file") or "", files.get("html") or ""
        )


def blocks(clusters: Sequence[ClusterSummary]) -> Iterator[Block]:
    """Yield the verdict on the fleet, and a table of its clusters."""
    ordered = sort_clusters(clusters)
    yield Heading(describe_fleet(clusters))
    rows = tuple(
        Row((each.host, each.state.value), each.verdict, "red" if each.state.needs_somebody else "") for each in ordered
    )
    yield Table(("cluster", "state"), rows, "verdict", texts=("cluster", "state"))
    for each in ordered:
        if file := each.html or each.report_file:
            yield Line(f"{each.host}: {file}")
    if any(each.state.needs_somebody for each in ordered):
        names = ",".join(each.host for each in ordered if each.state.needs_somebody)
        yield Paragraph("For these alone, run the same command again with:")
        yield Line(f"--limit {names}")


def _first_line(text: Any) -> str:
    return str(text).strip().split("\n", 1)[0]
