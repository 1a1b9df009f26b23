# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of the playbook recover_offline_partitions on a cluster of the lab."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cluster import Cluster
from lab.playbook import RECOVER, PlaybookRun, read_report, run_playbook


@dataclass
class Recovery:
    """Runs recover_offline_partitions on one cluster, as a person does, with a new report file each time."""

    cluster: Cluster
    directory: Path
    runs: int = 0

    @property
    def report_path(self) -> Path:
        return self.directory / f"report-{self.runs}.json"

    @property
    def report(self) -> dict[str, Any]:
        """Return the report of the last run."""
        return read_report(self.report_path)

    def variables(self, **more: object) -> dict[str, object]:
        """Return a run's default variables, with a new report file name.

        Aggressive, since the scenarios' last leader is dead and stays dead: balanced waits for it. Without Spark, which
        ranks alike, because its JVM would take a third of a test's CPU time. Tests of the pipeline use Spark.
        """
        self.runs += 1
        return {
            "kafka_bootstrap_servers": self.cluster.bootstrap(),
            "kafka_request_timeout_ms": 10_000,
            "unclean_recovery_strategy": "aggressive",
            **({} if "unclean_recovery_spark" in more else {"unclean_recovery_engine": "process"}),
            # No test starts a dead broker during the run.
            "unclean_recovery_lost_brokers": [each for each, node in self.cluster.brokers.items() if not node.running],
            "unclean_recovery_report_file": str(self.report_path),
            **more,
        }

    def run(self, *arguments: str, **variables: object) -> PlaybookRun:
        return run_playbook(RECOVER, self.variables(**variables), *arguments)

    def recover(self, *arguments: str, **variables: object) -> PlaybookRun:
        """Recover all offline partitions automatically."""
        everything = {"unclean_recovery_all_offline_partitions": True, "unclean_recovery_automated_recovery": True}
        return self.run(*arguments, **everything, **variables)

    def make_plan(self, **variables: object) -> Path:
        """Return a plan for all offline partitions, for a person to review."""
        plan = self.directory / f"plan-{self.runs}.json"
        run = self.run(
            unclean_recovery_all_offline_partitions=True, unclean_recovery_manual_output_file=str(plan), **variables
        )
        assert run.returncode == 0, run.output
        return plan

    def carry_out(self, plan: Path, *arguments: str, **variables: object) -> PlaybookRun:
        return self.run(
            *arguments,
            unclean_recovery_plan_file=str(plan),
            unclean_recovery_automated_recovery=True,
            **variables,
        )
