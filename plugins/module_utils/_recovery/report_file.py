# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write how every requested partition ended into a file. It holds no secret.

Schema: docs/schemas/report-file.schema.json. The doc fragment ``report`` describes the option.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._documents.dataclass_json import codec, document
from .._model.partition import Broker
from .._model.run import RunMode
from .plan import AftermathFinding, Outcome, Report

_CODEC = codec(Report, "a report file is an object")
REPORT_FILE = document("report-file", "How every requested partition ended", _CODEC.schema)


def report_document(report: Report) -> dict[str, Any]:
    """Return the report as it stands in a file."""
    document: dict[str, Any] = _CODEC.encode(report)
    return document


def report_at(
    *,
    mode: RunMode,
    cluster_id: str,
    brokers: Sequence[Broker],
    outcomes: Sequence[Outcome],
    aftermath: Sequence[AftermathFinding] = (),
) -> Callable[[str, str], dict[str, Any]]:
    """Return what makes the report of a run, once the times of its start and end are known."""

    def document_at(started_at: str, finished_at: str) -> dict[str, Any]:
        report = Report(cluster_id, started_at, finished_at, mode, tuple(brokers), tuple(outcomes), tuple(aftermath))
        return report_document(report)

    return document_at
