# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write and read the plan for groups, and write the undo file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from itertools import chain, count
from typing import Any

from .._documents.errors import DocumentError, Problem, raise_if_problems, show_value
from .._documents.files import digest, format_document, read_file, write_new_file
from .._documents.strict_json import parse_json
from .._documents.validation import schema_problems
from .plan import GROUP_PLAN, MAX_BYTES, CommitStep, GroupPlan, decode_group_plan, group_plan_document


def write_group_plan(plan: GroupPlan, path: str) -> str:
    """Write a plan to a new file with mode 0600, and return its digest. Raises DocumentError."""
    content = group_plan_document(plan)
    raise_if_problems(path, schema_problems(content, GROUP_PLAN))
    write_new_file(path, format_document(content))
    return str(content["digest"])


def read_group_plan(path: str, approved: str | None = None) -> GroupPlan:
    """Read a plan. If a digest was approved, the plan must have it.

    Raises DocumentError with every problem of the file, such as a digest that does not match its content.
    """

    def problems(value: Any) -> Iterator[Problem]:
        against = schema_problems(value, GROUP_PLAN)
        yield from chain(against, () if against else _content_problems(value, approved))

    return decode_group_plan(parse_json(read_file(path, MAX_BYTES, must_be_protected=True), path, problems))


def _content_problems(value: dict[str, Any], approved: str | None) -> Iterator[Problem]:
    if value["digest"] != digest(value):
        yield Problem("/digest", "the plan was changed after its digest was made", "Make the plan again")
    if approved is not None and approved.strip() != value["digest"]:
        message = f"this plan has the digest {value['digest']}, and {show_value(approved)} was approved"
        yield Problem("/digest", message, "Carry out the approved plan, or have this one approved")
    seen: set[tuple[str, str, int]] = set()
    for number, step in enumerate(value["commits"]):
        key = (step["group"], step["topic"], step["partition"])
        if key in seen:
            message = f"group {step['group']} has two commits for {step['topic']}-{step['partition']}"
            yield Problem(f"/commits/{number}", message, "Remove one of the two")
        seen.add(key)


def require_own_cluster(plan: GroupPlan, cluster_id: str, path: str) -> None:
    """Raise DocumentError if the plan is of another cluster."""
    if plan.cluster_id != cluster_id:
        message = f"is {plan.cluster_id}, but this is cluster {cluster_id}"
        raise DocumentError(path, [Problem("/clusterId", message, "Give the plan of this cluster")])


def write_undo_file(path: str, steps: Sequence[CommitStep]) -> str:
    """Write the committed offsets before the change to a new file, sync it to disk, and return its path.

    ``kafka-consumer-groups.sh --reset-offsets --from-file`` reads it: group, topic, partition, offset. A group that had
    no offset is not in it. If the file exists, for example after a killed run, a number is added to its name.

    Raises DocumentError.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerows((each.group, each.topic, each.partition, each.committed) for each in steps if _had_commit(each))
    names = chain([path], (f"{path}-{number}" for number in count(2)))
    free = next(each for each in names if not os.path.lexists(each))
    write_new_file(free, text.getvalue().encode())
    return free


def _had_commit(step: CommitStep) -> bool:
    return step.committed is not None
