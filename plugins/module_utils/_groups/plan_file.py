# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the file of a plan for groups, and write the undo file. Schema: docs/schemas/group-plan.schema.json."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from itertools import chain, count
from typing import Any

from .._documents.errors import Problem
from .._documents.files import write_new_file
from .._documents.reviewed_plan import ReviewedPlan
from .plan import GROUP_PLAN, PLAN, CommitStep


def _find_problems(value: dict[str, Any]) -> Iterator[Problem]:
    seen: set[tuple[str, str, int]] = set()
    for number, step in enumerate(value["commits"]):
        key = (step["group"], step["topic"], step["partition"])
        if key in seen:
            message = f"group {step['group']} has two commits for {step['topic']}-{step['partition']}"
            yield Problem(f"/commits/{number}", message, "Remove one of the two")
        seen.add(key)


GROUP_PLAN_FILE = ReviewedPlan(PLAN, GROUP_PLAN, _find_problems)


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
