# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which texts have the same value."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import same_value


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        (None, None, True),
        (None, "1", False),
        ("1000000", "1000000.0", True),
        ("1.0E7", "10000000", True),
        ("9223372036854775807", "9223372036854775807", True),
        ("9223372036854775807", "9223372036854775806", False),
        ("0.9", "0.90", True),
        ("0:1,0:2", "0:1,0:2", True),
        ("0:1", "0:2", False),
        ("", "0", False),
    ],
)
def test_the_same_value(one: str | None, other: str | None, are_same: bool) -> None:
    assert [same_value(*pair) for pair in ((one, other), (other, one))] == [are_same, are_same]
