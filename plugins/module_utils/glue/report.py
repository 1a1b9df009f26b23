# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report file of a run; the doc fragment ``report`` describes the option."""

from __future__ import annotations

# What most runs do without is imported where it is needed.
# ruff: noqa: PLC0415
from collections.abc import Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.files import refuse_existing
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.clock import utc_now
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.aftermath import Finding
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Mode, Outcome, Report

REPORT = Arguments(argument_spec={"report_file": {"type": "path"}})


class ReportFile:
    """The report that a module was asked for, or none. Made before the run starts, whose times it tells.

    Raises DocumentError when the file exists or cannot be made.
    """

    def __init__(self, path: str | None, mode: Mode) -> None:
        self._path = path
        self._mode = mode
        self._started_at = utc_now()
        if path is not None:
            refuse_existing(path)

    def write(
        self,
        cluster_id: str,
        brokers: Sequence[Broker],
        outcomes: Sequence[Outcome],
        aftermath: Sequence[Finding] = (),
    ) -> None:
        """Raises DocumentError."""
        if self._path is None:
            return
        from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.report_file import (
            write_report,
        )

        report = Report(cluster_id, self._started_at, utc_now(), self._mode, tuple(brokers), tuple(outcomes))
        write_report(report, self._path, aftermath)
