# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Silent leaders that fail alike are one group, whatever characters their cause has."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reason import likeness, merge
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.silent_leaders import describe_silent_leader


@pytest.mark.parametrize("cause", ["connection refused", "{broker} {", "a; b"])
def test_silent_leaders_with_one_cause_share_a_reason(cause: str) -> None:
    reasons = [
        describe_silent_leader(Broker(each, "kafka", 9092, None, False, BrokerState.UNREACHABLE, cause))
        for each in (1, 4)
    ]
    assert len({likeness(each, with_brokers=False) for each in reasons}) == 1
    assert len({likeness(each, with_brokers=True) for each in reasons}) == 2
    assert merge(reasons).startswith(
        f"the metadata names broker 1 or 4 as leader, and it does not answer ({cause}): if it is dead or hung"
    )
