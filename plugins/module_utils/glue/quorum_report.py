# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report file of a look at the quorum."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.files import refuse_existing
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.clock import utc_now
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.assessment import Assessment


class QuorumReportFile:
    """The report that was asked for, or none. Made before the look, whose times it tells.

    Raises DocumentError when the file exists or cannot be made.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._started_at = utc_now()
        if path is not None:
            refuse_existing(path)

    def write(self, assessment: Assessment) -> None:
        """Raises DocumentError."""
        if self._path is None:
            return
        # Imported only where needed: a JSON Schema validator takes longer than the look.
        from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.quorum_report import (  # noqa: PLC0415
            write_quorum_report,
        )

        write_quorum_report(assessment, self._started_at, utc_now(), self._path)
