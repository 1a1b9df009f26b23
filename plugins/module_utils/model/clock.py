# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The time as documents tell it. Standard library only."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """UTC, ISO 8601, seconds: 2026-01-31T23:59:59Z. For people: never compared, so clock skew has no effect."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
