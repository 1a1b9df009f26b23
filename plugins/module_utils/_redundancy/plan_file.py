# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the file of a redundancy plan. Schema: docs/schemas/redundancy-plan.schema.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._documents.errors import Problem
from .._documents.reviewed_plan import ReviewedPlan
from .plan import PLAN, REDUNDANCY_PLAN


def _find_problems(value: dict[str, Any]) -> Iterator[Problem]:
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


REDUNDANCY_PLAN_FILE = ReviewedPlan(PLAN, REDUNDANCY_PLAN, _find_problems)
