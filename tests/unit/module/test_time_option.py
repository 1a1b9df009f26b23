# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Times that a person gives."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import TimeOptionError, read_time

_TWO = datetime(2026, 1, 31, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31T02:00:00Z", _TWO),
        ("2026-01-31 03:00:00+01:00", _TWO),
        ("20260131T020000Z", _TWO),
        ("", None),
        (None, None),
    ],
)
def test_a_time_is_read_with_its_zone(text: str | None, expected: datetime | None) -> None:
    assert read_time("from", text) == expected


@pytest.mark.parametrize("text", ["yesterday", "2026-01-31", "2026-01-31T02:00:00", "0001-01-01T00:00:00+14:00", " "])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(TimeOptionError, match="give a time with its zone"):
        read_time("from", text)
