# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write what a check of the readiness found into a file. It holds no secret.

Schema: docs/schemas/readiness-report.schema.json.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from .._documents.dataclass_json import codec, document
from .._documents.files import refuse_existing
from .._documents.validation import write_document
from .._model.fields import SCHEMA_VERSION, Meta, SchemaVersion, Time
from .._model.run import utc_now
from .check import Readiness


@dataclass(frozen=True, slots=True)
class ReadinessReport:
    """What was found, and when."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    started_at: Time
    finished_at: Time
    readiness: Annotated[Readiness, Meta(flat=True)]


_CODEC = codec(ReadinessReport, "a report of the readiness is an object")
READINESS_REPORT = document(
    "readiness-report", "Whether a cluster and this host are ready for a recovery", _CODEC.schema
)


class ReadinessReportFile:
    """The report file that a task asked for, or none. Created before the checks, for the time of their start.

    Raises DocumentError when the file exists or cannot be created.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._started_at = utc_now()
        if path is not None:
            refuse_existing(path)

    def write(self, readiness: Readiness) -> None:
        """Write the report, mode 0600.

        Raises DocumentError when it cannot be written, and when it does not meet its own schema.
        """
        if self._path is not None:
            report = _CODEC.encode(ReadinessReport(self._started_at, utc_now(), readiness))
            write_document(self._path, report, READINESS_REPORT)
