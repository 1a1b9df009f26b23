# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a broker that was killed has kept its records, because its host ran on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.host_boots import (
    describe_host_boots,
    read_host_boots,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.promise import (
    Obstacle,
    explain_promise,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.proof import judge_promise
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    BrokerChange,
    BrokerMoment,
    MetadataHistory,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from unit.history.test_promise import ALONE, LOST, ORDERS, OUTAGE, STARTED, history, moment, obstacle, restart

NEVER, LONG_AGO = 10**12, 1
SILENCE = 50_000


def said(boots: dict[int, int], *moments: BrokerMoment, broker_id: int = 3) -> MetadataHistory:
    found = history(*OUTAGE, brokers={broker_id: moments})
    return replace(found, host_boots=boots, silence_ms=SILENCE)


KILLED = restart(LOST + 10, clean=False)


@pytest.mark.parametrize(
    ("booted", "expected"),
    [
        pytest.param(LONG_AGO, None, id="long ago"),
        pytest.param(LOST - SILENCE - 20_000, Obstacle.UNCLEAN_RESTART, id="after its process was heard last"),
        pytest.param(LOST + 5, Obstacle.UNCLEAN_RESTART, id="just before the restart"),
        pytest.param(NEVER, Obstacle.UNCLEAN_RESTART, id="later"),
    ],
)
def test_a_killed_broker_has_kept_its_records_if_its_host_booted_earlier(
    booted: int, expected: Obstacle | None
) -> None:
    promise = judge_promise(said({3: booted}, *KILLED), ORDERS, 3, is_empty=False)
    assert promise.obstacle is expected
    assert promise.keeps_its_end == (expected is None)
    assert ("by the boot times that were given" in explain_promise(promise)) == (expected is None)


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        pytest.param(BrokerMoment(LOST, BrokerChange.UNFENCED, 10), None, id="unfenced after the boot"),
        pytest.param(
            BrokerMoment(LOST, BrokerChange.FENCED, 10), None, id="fenced longer after the boot than it takes"
        ),
        pytest.param(
            BrokerMoment(ALONE, BrokerChange.FENCED, 10), Obstacle.UNCLEAN_RESTART, id="fenced soon after the boot"
        ),
        pytest.param(
            BrokerMoment(LOST, BrokerChange.UNFENCED, 10, is_change=False), None, id="a snapshot shows it unfenced"
        ),
    ],
)
def test_the_log_proves_until_when_the_earlier_process_ran(last: BrokerMoment, expected: Obstacle | None) -> None:
    booted = ALONE - SILENCE + 5_000
    assert obstacle(said({3: booted}, *STARTED, last, *KILLED[1:])) is expected


def test_a_broker_that_was_fenced_before_the_log_begins_may_have_been_dead_for_long() -> None:
    fenced = BrokerMoment(ALONE, BrokerChange.REGISTERED, 10, ("dir",), is_change=False)
    assert obstacle(said({3: LONG_AGO}, fenced, *KILLED[1:])) is Obstacle.UNCLEAN_RESTART


def test_a_time_without_a_controller_does_not_count_as_silence() -> None:
    booted = LOST - SILENCE - 20_000
    lost = BrokerMoment(LOST, BrokerChange.FENCED, 10)
    found = said(
        {3: booted}, BrokerMoment(ALONE, BrokerChange.UNFENCED, 10, is_change=False), *STARTED, lost, KILLED[1]
    )
    assert obstacle(found) is None
    assert obstacle(replace(found, gaps=((LOST - 15_000, LOST - 1_000),))) is Obstacle.UNCLEAN_RESTART


def test_an_unknown_session_timeout_proves_no_silence() -> None:
    found = said({3: ALONE}, *STARTED, BrokerMoment(LOST, BrokerChange.FENCED, 10), KILLED[1])
    assert obstacle(replace(found, silence_ms=None)) is Obstacle.UNCLEAN_RESTART


def test_a_log_directory_that_failed_lost_what_was_not_synced() -> None:
    failed = BrokerMoment(ALONE, BrokerChange.LOG_DIR_FAILED, 10)
    assert obstacle(said({3: LONG_AGO}, *restart(LOST + 10, failed, clean=False))) is Obstacle.LOG_DIR_FAILED


def test_another_disk_is_another_disk() -> None:
    moved = restart(LOST + 10, clean=False, directories=("new",))
    assert obstacle(said({3: LONG_AGO}, *moved)) is Obstacle.DISK_REPLACED


def test_kafka_takes_every_killed_broker_out_of_the_elr() -> None:
    lost = OUTAGE[3]._replace(isr=(), elr=(1, 3))
    moments = (*OUTAGE[:3], lost, lost._replace(at_ms=LOST + 10, elr=(1,)))
    found = replace(history(*moments, brokers={3: KILLED}), host_boots={3: LONG_AGO})
    assert obstacle(found) is None
    after_a_shutdown = history(*moments, brokers={3: restart(LOST + 10, clean=True)})
    assert obstacle(replace(after_a_shutdown, host_boots={3: LONG_AGO})) is Obstacle.LEFT_ELR


def test_a_leader_that_was_killed_counts_by_its_own_host() -> None:
    moments = (*OUTAGE[:3], moment(ALONE + 10, -1, 1), moment(ALONE + 50, 1, 1), moment(LOST, -1, 1))
    found = history(*moments, brokers={1: restart(ALONE + 40, clean=False)})
    assert obstacle(replace(found, host_boots={3: LONG_AGO})) is Obstacle.LEADER_RESTARTED
    kept = judge_promise(replace(found, host_boots={1: LONG_AGO}), ORDERS, 3, is_empty=False)
    assert explain_promise(kept).endswith(
        "; broker 1 was started since without a shutdown before, and the host ran on, by the boot times that were "
        "given: this holds unless they are wrong, or a disk was restored from an older image then"
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, {}),
        ({}, {}),
        ({"3": "2026-01-31T02:00:00Z", 4: "2026-01-31 03:00:00+01:00"}, {3: 1769824800000, 4: 1769824800000}),
        ({"3": datetime.fromisoformat("2026-01-31T02:00:00+00:00")}, {3: 1769824800000}),
    ],
)
def test_times_are_read_with_their_zone(given: object, expected: dict[int, int]) -> None:
    assert read_host_boots({"host_boot_times": given}) == expected


def test_all_that_is_no_broker_or_no_time_is_refused_at_once() -> None:
    given = {
        "kafka1": "2026-01-31T02:00:00Z",
        "-1": "2026-01-31T02:00:00Z",
        "2": "2026-01-31 02:00:00",
        "3": "",
        "4": 7,
    }
    with pytest.raises(KafkaOpsError) as refused:
        read_host_boots({"host_boot_times": given})
    text = str(refused.value)
    assert text.count("\n") == 4
    assert "'kafka1', which is no broker id" in text
    assert "'-1', which is no broker id" in text
    assert "of broker 2 is '2026-01-31 02:00:00': give a time with its zone" in text
    assert "no time for broker 3" in text
    assert "of broker 4 is '7'" in text


def test_a_broker_that_the_cluster_does_not_have_is_named() -> None:
    brokers = [Broker(each, "host", 9092, None, is_fenced=False, state=BrokerState.ONLINE) for each in (1, 2)]
    assert [*describe_host_boots({1: LONG_AGO}, brokers)] == []
    (note,) = describe_host_boots({1: LONG_AGO, 11: LONG_AGO}, brokers)
    assert note.startswith("host_boot_times names broker 11, which the cluster does not have")
