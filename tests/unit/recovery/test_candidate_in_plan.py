# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The format of a candidate in a plan file, and the values that are refused."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import check_plan, plan_document
from unit.documents.examples import a_plan, edited


def test_ranks_count_from_1_and_an_epoch_of_a_lineage_is_a_list_of_two() -> None:
    document = plan_document(a_plan())
    candidates = document["partitions"][0]["candidates"]
    assert [each["rank"] for each in candidates] == [1, 2]
    assert [each["lineage"] for each in candidates] == [[[2, 100], [6, 150]], [[2, 100], [6, 120]]]
    assert check_plan(document) == a_plan()


def test_rank_0_is_refused() -> None:
    with pytest.raises(DocumentError) as refused:
        check_plan(edited("partitions", 0, "candidates", 0, "rank", to=0))
    (problem,) = refused.value.problems
    assert problem.place == "/partitions/0/candidates/0/rank"
    assert problem.message == "0 is not allowed; a rank is an integer from 1 to 2147483647"
