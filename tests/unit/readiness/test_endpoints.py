# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do about a broker that cannot be used: one that runs is never to be started a second time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.log_dirs import LogDirs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker, BrokerState, Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import CheckStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.endpoints import (
    check_brokers,
    check_log_dirs,
)

_ADDRESS = Address("kafka1", 9092)


def fake_kafka(error: BrokerCallError | None = None, late: Mapping[int, str] = MappingProxyType({})) -> Any:
    """Return a fake whose live brokers all answer, or end every identification with this error."""

    def in_parallel(_ask: Callable[[int], None], brokers: Collection[int]) -> dict[int, BrokerCallError | None]:
        return dict.fromkeys(brokers, error)

    return SimpleNamespace(
        in_parallel=in_parallel,
        settings=SimpleNamespace(bootstrap_servers=[_ADDRESS]),
        find_late=lambda _addresses: late,
    )


@pytest.mark.parametrize(
    ("state", "begin"),
    [
        (BrokerState.UNREACHABLE, "Start it, or correct advertised.listeners"),
        (BrokerState.FENCED, "Start it, or correct advertised.listeners"),
        (BrokerState.HUNG, "It runs, so do not start it a second time. Find out why it does not answer"),
        (BrokerState.NOT_AUTHORIZED, "It runs. Correct the credentials"),
    ],
)
def test_only_a_broker_that_may_be_down_is_to_be_started(state: BrokerState, begin: str) -> None:
    broker = Broker(1, "kafka1", 9092, None, True, state, "why")
    (check,) = check_brokers(fake_kafka(), [broker], {}, {1})
    assert (check.found, check.remedy.startswith(begin)) == (f"{state.value}: why", True), check.remedy
    (to_save,) = check_brokers(fake_kafka(), [broker], {}, {1}, {1})
    assert to_save.remedy.startswith("Do not start it yet")


def test_a_live_broker_at_another_brokers_address_is_not_to_be_started() -> None:
    broker = Broker(1, "kafka1", 9092, None, False, BrokerState.ONLINE)
    wrong = BrokerCallError("kafka1:9092", Cause.WRONG_BROKER, "it is broker 2")
    (check,) = check_brokers(fake_kafka(wrong), [broker], {1: _ADDRESS}, {1})
    assert check.remedy.startswith("Correct advertised.listeners")


def test_a_broker_that_applies_metadata_late_is_a_warning() -> None:
    broker = Broker(1, "kafka1", 9092, None, False, BrokerState.ONLINE)
    (check,) = check_brokers(fake_kafka(late={1: "it ends at offset 8"}), [broker], {1: _ADDRESS}, {1})
    assert check.status is CheckStatus.WARNING
    assert check.found == "answers at kafka1:9092, and applies metadata late: it ends at offset 8"


def test_a_failed_log_directory_is_saved_before_its_broker_restarts_with_it() -> None:
    """Leaders that were elected without it lack records that only the directory holds."""
    online = Broker(1, "kafka1", 9092, None, False, BrokerState.ONLINE)
    failed = {1: LogDirs({}, {"/disk": "error 56"}, "")}

    def remedy(unclean_elections: int | None, to_save: Collection[int]) -> str:
        broker = replace(online, unclean_elections=unclean_elections)
        (check,) = check_log_dirs(failed, [broker], to_save)
        assert check.found == "log directory /disk is offline: error 56"
        return check.remedy

    assert remedy(1, {1}).startswith("Do not restart it with this directory yet")
    assert remedy(0, {2}).endswith("with an empty directory, the broker may be elected")
    assert "If one was, save the directory first" in remedy(None, {2})
