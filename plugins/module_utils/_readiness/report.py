# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write what a check of the readiness found into a file. It holds no secret.

Schema: docs/schemas/readiness-report.schema.json.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from .._documents.dataclass_json import codec, document
from .._model.fields import SCHEMA_VERSION, Meta, SchemaVersion, Time
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


def readiness_report_document(readiness: Readiness, started_at: str, finished_at: str) -> dict[str, Any]:
    """Return the report as it stands in a file."""
    document: dict[str, Any] = _CODEC.encode(ReadinessReport(started_at, finished_at, readiness))
    return document
