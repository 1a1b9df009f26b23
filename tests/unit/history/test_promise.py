# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a replica is proven to hold every record that was acknowledged with acks=all, and when not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.promise import (
    Obstacle,
    explain_promise,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.proof import judge_promise
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.reading import HistoryQuestion
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    BrokerChange,
    BrokerMoment,
    ConfigKey,
    ConfigMoment,
    MetadataHistory,
    PartitionHistory,
    PartitionMoment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import Assumption
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import MIN_ISR, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import BROKER_RESOURCE, TOPIC_RESOURCE

ORDERS = TopicPartition("orders", 0)
OF_TOPIC = ConfigKey(TOPIC_RESOURCE, "orders", MIN_ISR)
OF_CLUSTER = ConfigKey(BROKER_RESOURCE, "", MIN_ISR)
ALL = (1, 2, 3)
CREATED, LEFT, ALONE, LOST, NOW = 1_000_000, 2_000_000, 2_100_000, 2_200_000, 3_000_000


def moment(at_ms: int, leader: int, *isr: int, unclean: bool = False) -> PartitionMoment:
    return PartitionMoment(at_ms, leader, isr, (), ALL, unclean)


OUTAGE = (
    moment(CREATED, 1, 1, 2, 3),
    moment(LEFT, 1, 1, 3),
    moment(ALONE, 1, 1),
    moment(LOST, -1, 1),
)
"""2 left the ISR, then 3 did. Then only 1 took records, until it died."""
MIN_TWO = {OF_TOPIC: (ConfigMoment(CREATED, "2"),)}
STARTED = (BrokerMoment(CREATED, BrokerChange.REGISTERED, 10, ("dir",)),)


def history(
    *moments: PartitionMoment,
    configs: Mapping[ConfigKey, tuple[ConfigMoment, ...]] = MIN_TWO,
    brokers: Mapping[int, Sequence[BrokerMoment]] | None = None,
) -> MetadataHistory:
    return MetadataHistory(
        CREATED,
        NOW,
        {ORDERS: PartitionHistory(moments, moments[0].at_ms == CREATED)},
        dict.fromkeys(ALL, STARTED) | {each: tuple(found) for each, found in (brokers or {}).items()},
        configs,
        has_base=True,
        begins_at_start=True,
    )


def obstacle(found: MetadataHistory, broker_id: int = 3, *, is_empty: bool = False) -> Obstacle | None:
    return judge_promise(found, ORDERS, broker_id, is_empty=is_empty).obstacle


def test_the_last_to_leave_holds_all_if_the_leader_alone_could_not_acknowledge() -> None:
    promise = judge_promise(history(*OUTAGE), ORDERS, 3, is_empty=False)
    assert promise.is_kept
    assert (promise.left_at_ms, promise.lost_at_ms, promise.min_isr) == (ALONE, LOST, 2)


def test_who_left_earlier_lacks_what_the_others_acknowledged() -> None:
    promise = judge_promise(history(*OUTAGE), ORDERS, 2, is_empty=False)
    assert (promise.obstacle, promise.at_ms, promise.isr) == (Obstacle.ISR_WAS_LARGE_ENOUGH, LEFT, (1, 3))


def test_a_leader_alone_acknowledges_if_one_is_enough() -> None:
    assert (
        obstacle(history(*OUTAGE, configs={OF_TOPIC: (ConfigMoment(CREATED, "1"),)})) is Obstacle.ISR_WAS_LARGE_ENOUGH
    )


def test_the_number_of_replicas_bounds_min_insync_replicas() -> None:
    moments = [each._replace(replicas=(1, 3)) for each in OUTAGE]
    promise = judge_promise(
        history(*moments, configs={OF_TOPIC: (ConfigMoment(CREATED, "3"),)}), ORDERS, 3, is_empty=False
    )
    assert (promise.is_kept, promise.min_isr) == (True, 2)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([(CREATED, "2"), (ALONE + 10, "1")], Obstacle.ISR_WAS_LARGE_ENOUGH, id="lowered while alone"),
        pytest.param([(CREATED, "1"), (ALONE - 10, "2")], Obstacle.ISR_WAS_LARGE_ENOUGH, id="raised just before"),
        pytest.param([(CREATED, "1"), (CREATED + 10, "2")], None, id="raised long before"),
        pytest.param([(CREATED, "2"), (LOST + 10, "1")], None, id="lowered after the outage"),
        pytest.param([(CREATED, "2"), (ALONE + 10, None)], Obstacle.MIN_ISR_UNKNOWN, id="deleted while alone"),
        pytest.param([(CREATED, "two")], Obstacle.MIN_ISR_UNKNOWN, id="no number"),
    ],
)
def test_a_config_that_changed_counts_with_its_smallest_value(
    values: list[tuple[int, str | None]], expected: Obstacle | None
) -> None:
    assert obstacle(history(*OUTAGE, configs={OF_TOPIC: tuple(ConfigMoment(*each) for each in values)})) is expected


def test_the_cluster_default_counts_if_the_topic_sets_nothing() -> None:
    assert obstacle(history(*OUTAGE, configs={OF_CLUSTER: (ConfigMoment(CREATED, "2"),)})) is None


def test_the_own_properties_of_a_dead_leader_are_not_known() -> None:
    assert obstacle(history(*OUTAGE, configs={})) is Obstacle.MIN_ISR_UNKNOWN


def test_what_was_before_the_creation_of_the_topic_does_not_count() -> None:
    late = [each._replace(at_ms=ALONE - 10) for each in OUTAGE[:1]]
    found = history(*late, *OUTAGE[2:], configs={OF_TOPIC: (ConfigMoment(ALONE - 10, "2"),)})
    of_partition = replace(found.partitions[ORDERS], begins_with_creation=True)
    assert obstacle(replace(found, partitions={ORDERS: of_partition})) is None


def test_a_snapshot_says_what_a_config_was_before_it() -> None:
    found = history(*OUTAGE, configs={OF_TOPIC: (ConfigMoment(NOW, "2", is_change=False),)})
    assert obstacle(replace(found, begins_at_start=False)) is None


def test_a_change_hides_what_was_before_it_if_the_log_begins_late() -> None:
    found = history(*OUTAGE, configs={OF_TOPIC: (ConfigMoment(ALONE + 10, "2"),)})
    assert obstacle(replace(found, begins_at_start=False)) is Obstacle.MIN_ISR_UNKNOWN


def test_a_log_that_begins_after_the_replica_left_proves_nothing() -> None:
    assert obstacle(history(*OUTAGE[2:])) is Obstacle.LEFT_EARLIER


def test_no_history_proves_nothing() -> None:
    assert obstacle(MetadataHistory(CREATED, NOW)) is Obstacle.NO_HISTORY
    assert obstacle(history(*OUTAGE[:3])) is Obstacle.NO_HISTORY


def test_an_empty_log_holds_nothing() -> None:
    assert obstacle(history(*OUTAGE), is_empty=True) is Obstacle.EMPTY


def restart(
    at_ms: int, *before: BrokerMoment, clean: bool, directories: tuple[str, ...] = ("dir",)
) -> list[BrokerMoment]:
    asked = [BrokerMoment(at_ms - 5, BrokerChange.SHUTTING_DOWN, 10)] if clean else []
    return [*STARTED, *before, *asked, BrokerMoment(at_ms, BrokerChange.REGISTERED, 20, directories)]


FAILED = BrokerMoment(ALONE, BrokerChange.LOG_DIR_FAILED, 10)
WITHOUT_ITS_DIRECTORY = BrokerMoment(ALONE + 5, BrokerChange.REGISTERED, 10, ("other",), is_change=False)


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        pytest.param(restart(LOST + 10, clean=False), Obstacle.UNCLEAN_RESTART, id="unclean, after the outage"),
        pytest.param(restart(LOST + 10, clean=True), None, id="clean, after the outage"),
        pytest.param(restart(LEFT - 10, clean=False), Obstacle.EARLIER_RESTART, id="unclean, while it was in the ISR"),
        pytest.param(restart(LEFT - 300_000, clean=False), None, id="unclean, and then in the ISR for long"),
        pytest.param(restart(LOST + 10, clean=True, directories=("new",)), Obstacle.DISK_REPLACED, id="another disk"),
        pytest.param(
            restart(LOST + 10, clean=True)[len(STARTED) :], Obstacle.DISK_UNKNOWN, id="its earlier start was not read"
        ),
        pytest.param(
            [each._replace(directories=()) for each in restart(LOST + 10, clean=True)],
            Obstacle.DISK_UNKNOWN,
            id="records of metadata.version 3.6 name no directories",
        ),
        pytest.param(
            restart(LOST + 10, FAILED, clean=True), Obstacle.LOG_DIR_FAILED, id="a log directory failed and came back"
        ),
        pytest.param(
            restart(LOST + 10, WITHOUT_ITS_DIRECTORY, clean=True, directories=("dir", "other")),
            Obstacle.LOG_DIR_FAILED,
            id="a snapshot shows that a log directory had failed",
        ),
        pytest.param(
            restart(LOST + 10, FAILED, WITHOUT_ITS_DIRECTORY, clean=True, directories=("other", "new")),
            Obstacle.DISK_REPLACED,
            id="a log directory failed and was replaced",
        ),
    ],
)
def test_a_restart_of_the_replica_counts(moments: list[BrokerMoment], expected: Obstacle | None) -> None:
    assert obstacle(history(*OUTAGE, brokers={3: moments})) is expected


def test_the_log_is_read_back_to_the_start_before_a_restart() -> None:
    question = HistoryQuestion({}, {ORDERS: (3,)}, ())
    restarted = restart(LOST + 10, clean=True)
    assert question.is_answered(history(*OUTAGE, brokers={3: restarted}))
    assert not question.is_answered(history(*OUTAGE, brokers={3: restarted[len(STARTED) :]}))


@pytest.mark.parametrize(
    ("left_elr_at", "expected"),
    [
        pytest.param(LOST + 10, Obstacle.LEFT_ELR, id="when it came back"),
        pytest.param(LOST + 11, None, id="by a change of min.insync.replicas"),
    ],
)
def test_a_replica_that_kafka_took_out_of_the_elr_may_have_an_older_disk(
    left_elr_at: int, expected: Obstacle | None
) -> None:
    lost = OUTAGE[3]._replace(isr=(), elr=(1, 3))
    moments = (*OUTAGE[:3], lost, lost._replace(at_ms=left_elr_at, elr=(1,)))
    promise = judge_promise(history(*moments, brokers={3: restart(LOST + 10, clean=True)}), ORDERS, 3, is_empty=False)
    assert promise.obstacle is expected
    assert promise.keeps_its_end == (expected is None)
    assert ("older image then" in explain_promise(promise)) == (expected is None)


def test_the_proof_names_the_brokers_whose_disks_it_believes_after_a_restart() -> None:
    moments = (*OUTAGE[:3], moment(ALONE + 10, -1, 1), moment(ALONE + 50, 1, 1), moment(LOST, -1, 1))
    brokers = {1: restart(ALONE + 40, clean=True), 3: restart(LOST + 10, clean=True), 2: restart(LOST + 10, clean=True)}
    found = judge_promise(history(*moments, brokers=brokers), ORDERS, 3, is_empty=False)
    assert found.is_kept
    assert explain_promise(found).endswith(
        "; brokers 1, 3 were shut down and started since: this holds unless a host lost power before its broker had "
        "stopped, or a disk was restored from an older image then"
    )
    plain = judge_promise(history(*OUTAGE), ORDERS, 3, is_empty=False)
    assert "older image" not in explain_promise(plain)


def test_a_leader_that_restarted_uncleanly_may_have_truncated_the_replica() -> None:
    moments = (*OUTAGE[:3], moment(ALONE + 10, -1, 1), moment(ALONE + 50, 1, 1), moment(LOST, -1, 1))
    brokers = {1: restart(ALONE + 40, clean=False)}
    assert obstacle(history(*moments, brokers=brokers)) is Obstacle.LEADER_RESTARTED


def test_the_leader_s_own_return_does_not_count_if_it_leads_no_more() -> None:
    assert obstacle(history(*OUTAGE, brokers={1: restart(LOST + 40, clean=False)})) is None


def test_an_unclean_election_since_then_proves_nothing() -> None:
    moments = (*OUTAGE, moment(LOST + 10, 2, 2, unclean=True), moment(LOST + 20, -1, 2))
    assert obstacle(history(*moments)) is Obstacle.UNCLEAN_ELECTION


def test_an_unclean_election_before_it_was_in_sync_again_does_not_count() -> None:
    moments = (moment(CREATED, 2, 2, unclean=True), *(each._replace(at_ms=each.at_ms + 10) for each in OUTAGE))
    assert obstacle(history(*moments)) is None


def test_an_earlier_unclean_election_counts_while_a_replica_has_not_been_in_sync_again() -> None:
    found = history(
        moment(CREATED, 1, 1, 2), moment(CREATED + 10, 3, 3, unclean=True), moment(CREATED + 20, 1, 1, 3), *OUTAGE[2:]
    )
    assert obstacle(found) is Obstacle.EARLIER_UNCLEAN_ELECTION


def test_a_replica_that_was_reassigned_away_lost_its_log() -> None:
    away = moment(ALONE + 10, 1, 1)._replace(replicas=(1, 2))
    assert obstacle(history(*OUTAGE[:3], away, moment(ALONE + 20, 1, 1), OUTAGE[3])) is Obstacle.WAS_NO_REPLICA


def test_a_replica_that_was_reassigned_away_as_it_left_the_isr_lost_its_log() -> None:
    away = moment(ALONE, 1, 1)._replace(replicas=(1, 2))
    assert obstacle(history(*OUTAGE[:2], away, moment(ALONE + 20, 1, 1), OUTAGE[3])) is Obstacle.WAS_NO_REPLICA


def test_a_time_out_of_the_isr_before_it_was_in_sync_again_does_not_count() -> None:
    before = (moment(CREATED, 1, 1, 2, 3), moment(CREATED + 10, 1, 1, 2), moment(CREATED + 20, 1, 1, 2, 3))
    assert obstacle(history(*before, *OUTAGE[1:])) is None


def test_a_large_isr_in_the_millisecond_of_the_loss_counts() -> None:
    moments = (*OUTAGE[:3], moment(LOST, 1, 1, 2), moment(LOST, -1, 1, 2))
    assert obstacle(history(*moments)) is Obstacle.ISR_WAS_LARGE_ENOUGH


@pytest.mark.parametrize(
    "hidden",
    [
        PartitionMoment(ALONE + 10, 1, None, (), ALL),
        PartitionMoment(ALONE + 10, None, (1,), (), ALL),
        PartitionMoment(ALONE + 10, 1, (1,), (), None),
    ],
    ids=["its ISR", "its leader", "its replicas"],
)
def test_a_state_that_is_not_known_proves_nothing(hidden: PartitionMoment) -> None:
    assert obstacle(history(*OUTAGE[:3], hidden, OUTAGE[3])) is Obstacle.LEFT_EARLIER


@pytest.mark.parametrize(
    ("restarts", "booted", "expected"),
    [
        pytest.param({}, {}, (), id="no restart"),
        pytest.param({3: True}, {}, (Assumption.SHUTDOWN_COMPLETED, Assumption.DISK_NOT_OLDER), id="a shutdown"),
        pytest.param({3: False}, {3: 1}, (Assumption.BOOT_TIMES_RIGHT, Assumption.DISK_NOT_OLDER), id="a kill"),
        pytest.param({3: False}, {}, (), id="nothing is proven"),
    ],
)
def test_what_a_proof_assumes(
    restarts: dict[int, bool], booted: dict[int, int], expected: tuple[Assumption, ...]
) -> None:
    brokers = {each: restart(LOST + 10, clean=clean) for each, clean in restarts.items()}
    found = replace(history(*OUTAGE, brokers=brokers), host_boots=booted)
    assert judge_promise(found, ORDERS, 3, is_empty=False).assumptions == expected


ANEW = ConfigMoment(CREATED, None, begins_topic=True)


@pytest.mark.parametrize(
    ("older", "started", "expected"),
    [
        pytest.param("1", CREATED + 10, Obstacle.OLDER_TOPIC, id="the leader alone was enough for the deleted topic"),
        pytest.param("1", CREATED, None, id="the leader has run since before"),
        pytest.param("2", CREATED + 10, None, id="the same value"),
    ],
)
def test_a_leader_may_use_the_value_of_a_deleted_topic(older: str, started: int, expected: Obstacle | None) -> None:
    configs = {
        OF_TOPIC: (ConfigMoment(CREATED - 10, older), ANEW),
        OF_CLUSTER: (ConfigMoment(CREATED - 10, "2"),),
    }
    start = BrokerMoment(started, BrokerChange.REGISTERED, 10, ("dir",))
    promise = judge_promise(history(*OUTAGE, configs=configs, brokers={1: [start]}), ORDERS, 3, is_empty=False)
    assert promise.obstacle is expected
    assert (promise.min_isr, promise.isr) == ((1, (1,)) if expected else (2, ()))


TWO_BY_DEFAULT = {OF_TOPIC: (ANEW,), OF_CLUSTER: (ConfigMoment(CREATED, "2", is_change=False),)}


def test_a_log_that_begins_with_the_creation_says_nothing_of_a_deleted_topic() -> None:
    restarted = {1: restart(CREATED + 10, clean=True)}
    late = replace(history(*OUTAGE, configs=TWO_BY_DEFAULT, brokers=restarted), begins_at_start=False)
    promise = judge_promise(late, ORDERS, 3, is_empty=False)
    assert (promise.obstacle, promise.at_ms) == (Obstacle.OLDER_TOPIC_UNKNOWN, CREATED)
    assert not HistoryQuestion({}, {ORDERS: (3,)}, ()).is_answered(late), "it is read further back"


def test_a_value_of_its_own_keeps_a_topic_from_that_of_a_deleted_one() -> None:
    late = replace(history(*OUTAGE, brokers={1: restart(CREATED + 10, clean=True)}), begins_at_start=False)
    assert judge_promise(late, ORDERS, 3, is_empty=False).is_kept
    assert HistoryQuestion({}, {ORDERS: (3,)}, ()).is_answered(late)


def test_times_alone_are_those_of_the_last_leader() -> None:
    found = PartitionHistory(OUTAGE)
    assert (found.alone_since_ms, found.leader_lost_at_ms, found.last_leader_id) == (ALONE, LOST, 1)
    assert PartitionHistory((*OUTAGE[:2], moment(LOST, -1, 1, 3))).alone_since_ms is None
