# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A name that was not found, and the names that are most like it."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.near_names import not_found

_KNOWN = ("orders", "Orders-dlq", "payments", "users")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("order", "topic order was not found: did you mean orders?"),
        ("ORDERS-DLQ", "topic ORDERS-DLQ was not found: did you mean Orders-dlq or orders?"),
        ("stock", "topic stock was not found"),
    ],
)
def test_near_names_are_offered(name: str, text: str) -> None:
    assert not_found([name], _KNOWN) == {name: text}


def test_of_many_wrong_names_the_first_are_compared() -> None:
    texts = not_found([f"order{number}" for number in range(9)], _KNOWN)
    assert [*texts.values()][4:6] == ["topic order4 was not found: did you mean orders?", "topic order5 was not found"]
