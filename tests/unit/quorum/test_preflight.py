# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What modules that are about other things than the quorum make of its verdict."""

from __future__ import annotations

from typing import cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue import quorum_preflight
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.quorum_preflight import (
    NoQuorumError,
    require_quorum,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.verdict import Verdict

WIRE = cast(Wire, None)


def test_every_reason_is_told_and_the_override(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum_preflight, "elections_allowed", lambda _wire: Verdict(False, ("no quorum", "churn")))
    with pytest.raises(
        NoQuorumError, match=r"^no quorum; churn\. Nothing was asked .* ignore_quorum .* _ignore_quorum"
    ):
        require_quorum(WIRE, {"ignore_quorum": False})


def test_nothing_is_told_where_elections_may_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum_preflight, "elections_allowed", lambda _wire: Verdict(True))
    require_quorum(WIRE, {"ignore_quorum": False})


def test_the_override_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Wire] = []
    monkeypatch.setattr(quorum_preflight, "elections_allowed", asked.append)
    require_quorum(WIRE, {"ignore_quorum": True})
    assert asked == []
