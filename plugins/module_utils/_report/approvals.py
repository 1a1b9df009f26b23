# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who approved which plan, and when. No document of this collection has it: a person, or AWX's workflow, says so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .._documents.errors import DocumentError, Problem
from .sources import Kind, Source

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class Approval:
    """One plan that a person approved."""

    at: str
    """UTC, as documents have it."""
    by: str
    what: str
    """Which plan, and whether it is among the documents."""


def approvals_of(given: Iterable[Mapping[str, Any]], sources: Sequence[Source]) -> tuple[Approval, ...]:
    """Check what was given, and find the plans that it is about.

    Raises DocumentError with every approval whose time is none, and whose plan is not among the documents.
    """
    plans = {json.loads(each.raw)["digest"]: each.path for each in sources if each.kind is Kind.PLAN}
    found, problems = [], []
    for number, each in enumerate(given):
        place, digest = f"[{number}]", each["plan_digest"]
        if not _is_time(each["at"]):
            message = f"at is {each['at']!r}, which is no UTC time like 2026-01-31T23:59:59Z"
            problems.append(Problem(place, message, "Write the time like that"))
        if digest is not None and digest not in plans:
            message = f"plan_digest {digest} is of none of the documents"
            problems.append(Problem(place, message, "Add the plan that was approved, or leave plan_digest out"))
        what = "plan approved" if digest is None else f"plan {plans.get(digest, '')} ({digest}) approved"
        found.append(Approval(each["at"], each["by"], what))
    if problems:
        raise DocumentError("approvals", problems)
    return tuple(found)


def _is_time(text: str) -> bool:
    try:
        datetime.strptime(text, _FORMAT)  # only the form is checked
    except ValueError:
        return False
    return True
