# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How modules that write use the quorum's verdict."""

from __future__ import annotations

from typing import cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import (
    NoQuorumError,
    require_quorum,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.verdict import Verdict

WIRE = cast(Wire, None)


def test_every_reason_is_named_and_the_override() -> None:
    with pytest.raises(
        NoQuorumError, match=r"^no quorum; churn\. Nothing was asked .* ignore_quorum .* _ignore_quorum"
    ):
        require_quorum(WIRE, {"ignore_quorum": False}, lambda _wire: Verdict(False, ("no quorum", "churn")))


def test_nothing_is_refused_where_elections_are_allowed() -> None:
    require_quorum(WIRE, {"ignore_quorum": False}, lambda _wire: Verdict(True))


def test_the_override_sends_no_request() -> None:
    asked: list[Wire] = []

    def judge(wire: Wire) -> Verdict:
        asked.append(wire)
        return Verdict(True)

    require_quorum(WIRE, {"ignore_quorum": True}, judge)
    assert asked == []
