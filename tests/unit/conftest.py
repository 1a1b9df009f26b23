# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all unit tests share."""

from __future__ import annotations

from hypothesis import settings

# A busy machine makes examples slow, not wrong; pytest-timeout bounds each test.
settings.register_profile("kafkaops", deadline=None)
# `make test-all`: --hypothesis-profile=wide.
settings.register_profile("wide", deadline=None, max_examples=500)
settings.load_profile("kafkaops")
