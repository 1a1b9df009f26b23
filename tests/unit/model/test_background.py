# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is made in a thread before it is wanted."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.background import ahead

_NAME = "made-ahead"


def is_running() -> bool:
    return any(each.name == _NAME for each in threading.enumerate())


def test_items_come_in_order_and_not_too_many_are_made() -> None:
    made: list[int] = []

    def make() -> Iterator[int]:
        for number in range(20):
            made.append(number)
            yield number

    found = []
    for each in ahead(make(), 3, _NAME):
        found.append(each)
        assert len(made) <= len(found) + 4
    assert found == list(range(20))
    assert not is_running()


def test_an_error_comes_after_the_items_before_it() -> None:
    def make() -> Iterator[int]:
        yield 1
        raise ValueError("the second one")

    items = ahead(make(), 3, _NAME)
    assert next(items) == 1
    with pytest.raises(ValueError, match="the second one"):
        next(items)


def test_nothing_goes_on_where_nothing_more_is_wanted() -> None:
    items = ahead(iter(range(100)), 1, _NAME)
    assert next(items) == 0
    items.close()  # type: ignore[attr-defined]  # a generator's
    assert not is_running()
