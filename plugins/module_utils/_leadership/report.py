# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the leadership report: the list of deprioritized brokers, the replica orders and the leaders. No secrets.

Schema: docs/schemas/leadership-report.schema.json.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from .._documents.dataclass_json import codec, timed_report
from .._documents.errors import Problem
from .._documents.report_file import write_document
from .._documents.strict_json import read_json
from .._documents.validation import schema_problems
from .._model.fields import ClusterId, Meta
from .._model.run import RunMode
from .blacklist import Blacklist
from .decide import OrderOutcome
from .moves import Move


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadershipReport:
    """The results of a run that changed the list, the orders and, if requested, the leaders."""

    cluster_id: ClusterId
    mode: RunMode
    before: Blacklist
    after: Blacklist
    is_native: bool
    """Whether all brokers know preferred_leader_blacklist, so that no order had to be changed."""
    remembered_in: Annotated[str, Meta("a place")]
    orders: tuple[OrderOutcome, ...]
    leaders: tuple[Move, ...] | None
    """None if no election was requested."""


_MOVE = codec(Move)
LEADERSHIP_REPORT, encode_leadership_report = timed_report(
    "leadership-report",
    "What became of the list of deprioritized brokers, of replica orders, and of leaders",
    LeadershipReport,
    "a leadership report is an object",
)


def read_leadership_report(path: str, cluster_id: str | None = None) -> dict[str, Any]:
    """Read a report that has no elections yet.

    Raises DocumentError if it is not a valid report, is of another cluster, or has elections already.
    """
    document: dict[str, Any] = read_json(path, partial(_problems, cluster_id))
    return document


def add_leaders(path: str, cluster_id: str, moves: Iterable[Move], finished_at: str) -> None:
    """Add elections to a report that has none yet. Raises DocumentError."""
    document = read_leadership_report(path, cluster_id)
    document |= {"finishedAt": finished_at, "leaders": [_MOVE.encode(each) for each in moves]}
    temporary = f"{path}.{os.getpid()}"
    write_document(temporary, document, LEADERSHIP_REPORT)
    os.replace(temporary, path)


def _problems(cluster_id: str | None, value: Any) -> Iterator[Problem]:
    problems = schema_problems(value, LEADERSHIP_REPORT)
    yield from problems
    if problems:
        return
    if value["leaders"] is not None:
        yield Problem("/leaders", "has elections already", "Give the report of this run's orders")
    if cluster_id is not None and value["clusterId"] != cluster_id:
        message = f"is {value['clusterId']}, but this is cluster {cluster_id}"
        yield Problem("/clusterId", message, "Give the report of this cluster")
