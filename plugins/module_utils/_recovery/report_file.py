# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write how every requested partition ended into a file. It holds no secret.

Schema: docs/schemas/report-file.schema.json. The doc fragment ``report`` describes the option.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._documents.dataclass_json import codec, document
from .._documents.files import refuse_existing
from .._documents.validation import write_document
from .._model.partition import Broker
from .._model.run import RunMode, utc_now
from .plan import AftermathFinding, Outcome, Report

_CODEC = codec(Report, "a report file is an object")
REPORT_FILE = document("report-file", "How every requested partition ended", _CODEC.schema)


def report_document(report: Report) -> dict[str, Any]:
    """Return the report as it stands in a file."""
    document: dict[str, Any] = _CODEC.encode(report)
    return document


def write_report(report: Report, path: str) -> dict[str, Any]:
    """Write a report file, mode 0600, and return what is in it.

    Raises DocumentError when something has that name already (``files.refuse_existing`` finds that beforehand), when it
    cannot be written, and when the report does not meet its own schema.
    """
    document = report_document(report)
    write_document(path, document, REPORT_FILE)
    return document


class ReportFile:
    """The report file that a task asked for, or none. Created before the run, for the time of its start.

    Raises DocumentError when the file exists or cannot be created.
    """

    def __init__(self, path: str | None, mode: RunMode) -> None:
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
        aftermath: Sequence[AftermathFinding] = (),
    ) -> None:
        """Write the report, if one was asked for.

        Raises DocumentError.
        """
        if self._path is not None:
            times = (self._started_at, utc_now())
            report = Report(cluster_id, *times, self._mode, tuple(brokers), tuple(outcomes), tuple(aftermath))
            write_report(report, self._path)
