# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the file of a plan for groups, and write the undo file. Schema: docs/schemas/group-plan.schema.json."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from typing import Any

from .._documents.errors import Problem
from .._documents.files import write_new_file
from .._documents.reviewed_plan import ReviewedPlan
from .plan import GROUP_PLAN, PLAN, CommitStep, TransactionStep


def _find_problems(value: dict[str, Any]) -> Iterator[Problem]:
    seen: set[tuple[str, str, int]] = set()
    for number, step in enumerate(value["commits"]):
        key = (step["group"], step["topic"], step["partition"])
        if key in seen:
            message = f"group {step['group']} has two commits for {step['topic']}-{step['partition']}"
            yield Problem(f"/commits/{number}", message, "Remove one of the two")
        seen.add(key)
    open_in: set[tuple[str, int, int]] = set()
    for number, step in enumerate(value["transactions"]):
        place = (step["topic"], step["partition"], step["producerId"])
        if place in open_in:
            message = f"producer {step['producerId']} has two transactions in {step['topic']}-{step['partition']}"
            yield Problem(f"/transactions/{number}", message, "Remove one of the two")
        open_in.add(place)


GROUP_PLAN_FILE = ReviewedPlan(PLAN, GROUP_PLAN, _find_problems)


def write_undo_file(path: str, steps: Sequence[CommitStep]) -> str:
    """Write the committed offsets before the change to a new file, sync it to disk, and return its path.

    ``kafka-consumer-groups.sh --reset-offsets --from-file`` reads it: group, topic, partition, offset. A group that had
    no offset is not in it. If the file exists, for example after a killed run, a number is added to its name.

    Raises DocumentError.
    """
    had = (each for each in steps if each.committed is not None)
    return _write_rows(path, ((each.group, each.topic, each.partition, each.committed) for each in had))


def write_transactions_file(path: str, steps: Sequence[TransactionStep]) -> str:
    """Write the transactions that are to be aborted to a new file, sync it to disk, and return its path.

    Columns: topic, partition, producer id, start offset, and the time of the newest record in ms. An abort cannot be
    undone: with this, their records can be found in the log. Raises DocumentError.
    """
    rows = ((each.topic, each.partition, each.producer_id, each.start_offset, each.last_timestamp_ms) for each in steps)
    return _write_rows(path, rows)


def _write_rows(path: str, rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    names = chain([path], (f"{path}-{number}" for number in count(2)))
    free = next(each for each in names if not os.path.lexists(each))
    write_new_file(free, text.getvalue().encode())
    return free
