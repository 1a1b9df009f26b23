# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The brokers of the stop gate's tests."""

from __future__ import annotations

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
"""The rack of each broker."""
