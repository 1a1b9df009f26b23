# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write what was found out about a quorum into a file. It holds no secret.

Schema: docs/schemas/quorum-report.schema.json.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from .._documents.dataclass_json import codec, document
from .._model.fields import SCHEMA_VERSION, Meta, SchemaVersion, Time
from .assessment import Assessment


@dataclass(frozen=True, slots=True)
class QuorumReport:
    """An assessment, and when it was made."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    started_at: Time
    finished_at: Time
    assessment: Annotated[Assessment, Meta(flat=True)]


_CODEC = codec(QuorumReport, "a report of a quorum is an object")
QUORUM_REPORT = document("quorum-report", "What was found out about the quorum of the controllers", _CODEC.schema)


def quorum_report_document(assessment: Assessment, started_at: str, finished_at: str) -> dict[str, Any]:
    """Return the report as it stands in a file."""
    document: dict[str, Any] = _CODEC.encode(QuorumReport(started_at, finished_at, assessment))
    return document
