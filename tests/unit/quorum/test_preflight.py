# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How modules that write use the quorum's verdict."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import (
    NO_CONTROLLERS,
    Address,
    ConnectionSettings,
    ControllerListeners,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import SeenLeader
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import (
    NoQuorumError,
    QuorumCheck,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.verdict import Verdict
from unit.fakes.clock import FakeClock

SETTINGS = ConnectionSettings(bootstrap_servers=(Address("fake.invalid", 9092),))
PARAMS = {"ignore_quorum": False, "quorum_window_ms": 3000}


class Observer:
    """Stands in for the observation of a quorum."""

    def __init__(self, verdict: Verdict | Exception) -> None:
        self.verdict = verdict
        self.windows: list[int] = []

    def __call__(
        self,
        _settings: ConnectionSettings,
        _controllers: ControllerListeners,
        _earlier: SeenLeader | None,
        window_ms: int,
    ) -> Verdict:
        self.windows.append(window_ms)
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict


def test_the_refusal_names_all_reasons_and_the_override() -> None:
    observe = Observer(Verdict(False, ("no quorum", "churn")))
    with pytest.raises(
        NoQuorumError, match=r"^no quorum; churn\. Nothing was asked .* ignore_quorum .* _ignore_quorum"
    ):
        QuorumCheck(SETTINGS, NO_CONTROLLERS, PARAMS, observe=observe).require()
    assert observe.windows == [3000]


def test_nothing_is_refused_if_elections_are_allowed() -> None:
    QuorumCheck(SETTINGS, NO_CONTROLLERS, PARAMS, observe=Observer(Verdict(True))).require()


def test_in_check_mode_there_is_one_look() -> None:
    observe = Observer(Verdict(True))
    QuorumCheck(SETTINGS, NO_CONTROLLERS, PARAMS, check_mode=True, observe=observe).require()
    assert observe.windows == [0]


def test_an_old_verdict_is_renewed() -> None:
    clock, observe = FakeClock(), Observer(Verdict(True))
    check = QuorumCheck(SETTINGS, NO_CONTROLLERS, PARAMS, observe=observe, clock=clock)
    check.require()
    clock.sleep(3.0)
    check.require()
    assert observe.windows == [3000]
    clock.sleep(0.1)
    observe.verdict = Verdict(False, ("the leader is gone",))
    with pytest.raises(NoQuorumError, match=r"^the leader is gone\."):
        check.require()
    assert observe.windows == [3000, 0]


def test_a_background_error_is_raised_to_the_waiting_caller() -> None:
    check = QuorumCheck(SETTINGS, NO_CONTROLLERS, PARAMS, observe=Observer(NoQuorumError("nobody answers")))
    with pytest.raises(NoQuorumError, match=r"^nobody answers$"):
        check.require()


def test_the_override_sends_no_request() -> None:
    observe = Observer(Verdict(False))
    QuorumCheck(SETTINGS, NO_CONTROLLERS, {**PARAMS, "ignore_quorum": True}, observe=observe).require()
    assert observe.windows == []
