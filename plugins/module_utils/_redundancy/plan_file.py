# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write and read the file of a redundancy plan. Schema: docs/schemas/redundancy-plan.schema.json."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from .._documents.errors import DocumentError, Problem, raise_if_problems, show_value
from .._documents.files import digest, format_document, read_file, write_new_file
from .._documents.strict_json import parse_json
from .._documents.validation import schema_problems
from .plan import MAX_BYTES, REDUNDANCY_PLAN, RedundancyPlan, decode_plan, plan_document


def write_plan(plan: RedundancyPlan, path: str) -> str:
    """Write a plan to a new file with mode 0600, and return its digest. Raises DocumentError."""
    content = plan_document(plan)
    raise_if_problems(path, schema_problems(content, REDUNDANCY_PLAN))
    write_new_file(path, format_document(content))
    return str(content["digest"])


def read_plan(path: str, approved: str | None = None) -> RedundancyPlan:
    """Read a plan. If a digest was approved, the plan must have it.

    Raises DocumentError with every problem of the file, such as a digest that does not match its content.
    """

    def problems(value: Any) -> Iterator[Problem]:
        against = schema_problems(value, REDUNDANCY_PLAN)
        yield from chain(against, () if against else _content_problems(value, approved))

    return decode_plan(parse_json(read_file(path, MAX_BYTES, must_be_protected=True), path, problems))


def _content_problems(value: dict[str, Any], approved: str | None) -> Iterator[Problem]:
    if value["digest"] != digest(value):
        yield Problem("/digest", "the plan was changed after its digest was made", "Make the plan again")
    if approved is not None and approved.strip() != value["digest"]:
        message = f"this plan has the digest {value['digest']}, and {show_value(approved)} was approved"
        yield Problem("/digest", message, "Carry out the approved plan, or have this one approved")
    seen: set[tuple[str, int]] = set()
    for number, move in enumerate(value["moves"]):
        place = f"/moves/{number}"
        key = (move["topic"], move["partition"])
        if key in seen:
            yield Problem(place, f"{move['topic']}-{move['partition']} is planned twice", "Remove one of the two")
        seen.add(key)
        target = move["target"]
        kept = {*target} - {*move["adding"]}
        if len({*target}) != len(target) or not {*move["adding"]} <= {*target} or not kept <= {*move["replicas"]}:
            yield Problem(f"{place}/target", "has another broker than its replicas and what is added", "Plan again")


def require_cluster(plan: RedundancyPlan, cluster_id: str, path: str) -> None:
    """Raise DocumentError if the plan is of another cluster."""
    if plan.cluster_id != cluster_id:
        message = f"is {plan.cluster_id}, but this is cluster {cluster_id}"
        raise DocumentError(path, [Problem("/clusterId", message, "Give the plan of this cluster")])
