# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The brokers to which the role returns leaders."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

_VARIABLES = Path(__file__).resolve().parents[3] / "roles" / "leadership_drain" / "vars" / "main.yml"


def _a_list(brokers: list[int], *by_topic: int) -> dict[str, object]:
    return {"brokers": brokers, "by_topic": [{"pattern": "eu-*", "brokers": [*by_topic]}] if by_topic else []}


@pytest.mark.parametrize(
    ("state", "named", "before", "after", "returning", "taken_off"),
    [
        ("absent", [], _a_list([1, 2], 3), _a_list([]), [], [1, 2, 3]),
        ("absent", [1], _a_list([1, 2]), _a_list([2]), [1], [1]),
        ("absent", [1], _a_list([]), _a_list([]), [], [1]),
        ("absent", [], _a_list([]), _a_list([]), [1], [1]),  # an earlier run has taken it off
        ("absent", [1], _a_list([1], 1), _a_list([], 1), [], []),
        ("exact", [2], _a_list([1]), _a_list([2]), [], [1]),
        ("exact", [2], _a_list([2]), _a_list([2]), [1], [1]),
        ("present", [1], _a_list([]), _a_list([1]), [], []),
    ],
)
def test_leaders_return_to_brokers_that_are_on_no_list_any_more(
    state: str, named: list[int], before: object, after: object, returning: list[int], *, taken_off: list[int]
) -> None:
    loader = DataLoader()
    given = {
        "__leadership_drain_checked": {"options": {"state": state, "brokers": named, "active_controller": False}},
        "__leadership_drain_orders": {"before": before, "after": after, "returning": returning},
    }
    templar = Templar(loader, loader.load_from_file(str(_VARIABLES), trusted_as_template=True) | given)
    found = templar.template(templar.available_variables["__leadership_drain_taken_off"])
    assert found == taken_off
