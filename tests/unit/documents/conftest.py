# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures for documents."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

NOBODY = 65534


@pytest.fixture
def as_nobody() -> Iterator[None]:
    """Run as a user without privileges, even if the tests run as root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(before)
