# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The size of a batch of elections."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import in_batches
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery import election as designated_election


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every partition a separate batch."""
    monkeypatch.setattr(designated_election, "in_batches", lambda items: in_batches(items, 1))
