# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The version of this collection, for the files it writes. galaxy.yml has the same; a unit test compares the two."""

from __future__ import annotations

VERSION = "1.0.0"
