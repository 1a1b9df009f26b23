# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A recording of the silent last leader raises what is known to be lost. Any other recording proves nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.explanation import (
    LogRate,
    LogTimes,
    NoticeLimits,
    explain_outage,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    MetadataHistory,
    PartitionHistory,
    PartitionMoment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import (
    Estimate,
    LastSeen,
    Outage,
    OutageHistory,
    RecordedLoss,
    ReplicaPast,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    EpochEnd,
    PartitionState,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.retention import Retention
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Candidate, SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import LeftAlone, PlannedElection
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.recorded import add_recordings
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy

_LOST_AT, _SEEN_AT, _ENDS_AT = "2026-01-31T02:10:00.000Z", "2026-01-31T02:08:00.000Z", "2026-01-31T02:04:00.000Z"
_SEEN_AT_MS = 1769825280000
STATE = PartitionState("orders", 0, "id", -1, 5, (1, 2), (1,), None, None, (1,))
CANDIDATE = Candidate(2, 1, 4, 0, 100, (EpochEnd(4, 100),), 1000, (), "")
SILENT = SilentReplica(1, Cause.UNREACHABLE, "it is dead")
FOR_EVER = Retention(-1, -1)
NOW = _SEEN_AT_MS + 3_600_000
SEEN = LastSeen(1, _SEEN_AT_MS, "id", 1, 4, 4, 0, 140)


def test_what_the_last_leader_held_is_lost_at_least() -> None:
    found = add_recordings(STATE, [CANDIDATE], [SILENT], {1: SEEN}, None, retention=FOR_EVER, now_ms=NOW)
    assert found.notes == ()
    election = decide(STATE, [CANDIDATE], [SILENT], Policy(Strategy.AGGRESSIVE), pasts=found.pasts)
    assert isinstance(election, PlannedElection)
    (loss,) = election.losses
    assert (loss.at_least, loss.at_most) == (40, None)
    assert loss.recorded == RecordedLoss(1, _SEEN_AT, 40)
    assert (
        f"recorded at {_SEEN_AT}, it held 40 records after the end of this log, which are lost unless an application "
        "has deleted them since (DeleteRecords), or dated them back by more than retention.ms"
    ) in election.explained
    refused = decide(STATE, [CANDIDATE], [SILENT], Policy(Strategy.AGGRESSIVE, 39), pasts=found.pasts)
    assert isinstance(refused, LeftAlone)
    assert "loses 40 or more records, and the limit is 39" in refused.reason


def test_a_leader_that_answers_again_says_itself_what_it_holds() -> None:
    pasts = add_recordings(STATE, [CANDIDATE], [SILENT], {1: SEEN}, None, retention=FOR_EVER, now_ms=NOW).pasts
    back = replace(CANDIDATE, broker_id=1, log_end_offset=150, lineage=(EpochEnd(4, 150),))
    decision = decide(STATE, [back, replace(CANDIDATE, rank=2)], [], Policy(Strategy.AGGRESSIVE), pasts=pasts)
    of_2 = next(each for each in decision.losses if each.broker_id == 2)
    assert (of_2.at_least, of_2.at_most, of_2.recorded) == (50, 50, None)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (replace(SEEN, topic_id="older"), "created again"),
        (replace(SEEN, leader_id=2), "broker 2 led then"),
        (replace(SEEN, leader_id=-1), "no broker led then, and a follower truncates its log"),
        (replace(SEEN, known_epoch=3), "did not know its leadership"),
        (replace(SEEN, leader_epoch=3, known_epoch=3), "the leader epoch was 3 then and is 5 now"),
    ],
)
def test_other_recordings_prove_nothing_and_are_named(seen: LastSeen, reason: str) -> None:
    found = add_recordings(STATE, [CANDIDATE], [SILENT], {1: seen}, None, retention=FOR_EVER, now_ms=NOW)
    assert found.pasts == {}
    (note,) = found.notes
    assert f"at {_SEEN_AT} the log of silent replica 1 ended at offset 140" in note
    assert reason in note


def test_a_leader_that_came_back_with_another_disk_proves_nothing() -> None:
    outage = Outage(OutageHistory(1, None, _LOST_AT, (), (), ()), {}, leader_has_new_disk=True)
    found = add_recordings(STATE, [CANDIDATE], [SILENT], {1: SEEN}, outage, retention=FOR_EVER, now_ms=NOW)
    assert found.pasts == {}
    assert "which proves nothing now: it came back with another log directory since" in found.notes[0]


def test_the_recording_of_a_shorter_log_adds_nothing() -> None:
    found = add_recordings(
        STATE, [CANDIDATE], [SILENT], {1: replace(SEEN, log_end_offset=90)}, None, retention=FOR_EVER, now_ms=NOW
    )
    assert found.pasts[2].recorded is None


@pytest.mark.parametrize(
    ("log_end", "records", "low", "high"),
    [
        (140, 60, 60, 140),  # 40 in the 240 s until the recording, so 20 in the 120 s after it
        (100, 100, 30, 100),  # nothing more than the candidate: a third of the estimate of before
    ],
)
def test_only_the_time_after_the_recording_is_estimated(log_end: int, records: int, low: int, high: int) -> None:
    history = OutageHistory(1, None, _LOST_AT, (), (), ())
    past = ReplicaPast(_ENDS_AT, 400, None, "", Estimate(300, 90, 300, "the rate before"), estimated_since=_ENDS_AT)
    outage = Outage(history, {2: past})
    seen = {1: replace(SEEN, log_end_offset=log_end)}
    found = add_recordings(STATE, [CANDIDATE], [SILENT], seen, outage, retention=FOR_EVER, now_ms=NOW)
    estimate = found.pasts[2].estimate
    assert estimate is not None
    assert (estimate.records, estimate.low, estimate.high) == (records, low, high)
    assert _SEEN_AT in estimate.method


@pytest.mark.parametrize(
    ("minutes_before", "high"),
    [
        pytest.param(2, 1_305, id="2 of these minutes are still to be estimated"),
        pytest.param(10, 3_771, id="a recording from before says nothing of them"),
    ],
)
def test_a_silent_producer_is_estimated_from_when_the_candidate_was_caught_up(minutes_before: float, high: int) -> None:
    """Its log ends an hour before, and the leader was alone for 5 min and 47 s at most."""
    lost_ms = _SEEN_AT_MS + 120_000
    moments = (
        PartitionMoment(lost_ms - 7_200_000, 1, (1, 2), (), (1, 2)),
        PartitionMoment(lost_ms - 300_000, 1, (1,), (), (1, 2)),
        PartitionMoment(lost_ms, -1, (1,), (), (1, 2)),
    )
    known = MetadataHistory(0, lost_ms, {STATE.topic_partition: PartitionHistory(moments)}, has_base=True)
    times = LogTimes(100, lost_ms - 3_600_000, (LogRate(36_000, 60_000),))
    outage = explain_outage(known, {STATE.topic_partition: {2: times}}, NoticeLimits(30_000, 9_000))[
        STATE.topic_partition
    ]
    seen = {1: replace(SEEN, log_end_offset=100, seen_at_ms=lost_ms - round(minutes_before * 60_000))}
    found = add_recordings(STATE, [CANDIDATE], [SILENT], seen, outage, retention=FOR_EVER, now_ms=NOW)
    estimate = found.pasts[2].estimate
    assert estimate is not None
    assert estimate.high == high


_SINCE_THE_END_MS = 360_000
"""From the newest record of the candidate until the leader was lost."""


@pytest.mark.parametrize(
    ("retention", "ends_at", "lost_at", "reason"),
    [
        (FOR_EVER, None, None, ""),
        (Retention(_SINCE_THE_END_MS + 1, -1), _ENDS_AT, _LOST_AT, ""),
        (Retention(_SINCE_THE_END_MS, -1), _ENDS_AT, _LOST_AT, "so the leader may have deleted such records since"),
        (Retention(_SINCE_THE_END_MS + 1, -1), _ENDS_AT, None, "so the leader may have deleted such records since"),
        (Retention(604_800_000, -1), None, _LOST_AT, "how old its records are is unknown"),
        (Retention(604_800_000, 1), _ENDS_AT, _LOST_AT, "retention.bytes of the topic is 1"),
        (None, _ENDS_AT, _LOST_AT, "grant DESCRIBE_CONFIGS"),
    ],
)
def test_records_that_retention_may_have_deleted_are_not_lost_by_the_election(
    retention: Retention | None, ends_at: str | None, lost_at: str | None, reason: str
) -> None:
    before = Estimate(300, 90, 300, "the rate before")
    outage = Outage(OutageHistory(1, None, lost_at, (), (), ()), {2: ReplicaPast(ends_at, 400, None, "", before)})
    found = add_recordings(STATE, [CANDIDATE], [SILENT], {1: SEEN}, outage, retention=retention, now_ms=NOW)
    recorded = found.pasts[2].recorded
    assert (recorded.records if recorded else 0) == (0 if reason else 40)
    if reason:
        (note,) = found.notes
        assert "ended at offset 140, which proves nothing now: " in note
        assert reason in note
        assert found.pasts[2].estimate == before


@pytest.mark.parametrize(
    ("candidate_starts", "seen_starts"), [pytest.param(0, 90, id="then"), pytest.param(90, 0, id="in the survivor")]
)
def test_records_that_an_application_deletes_are_not_proven_to_be_lost(candidate_starts: int, seen_starts: int) -> None:
    """Kafka Streams purges its repartition topics, whose retention is endless."""
    candidate, seen = (
        replace(CANDIDATE, log_start_offset=candidate_starts),
        replace(SEEN, log_start_offset=seen_starts),
    )
    found = add_recordings(STATE, [candidate], [SILENT], {1: seen}, None, retention=FOR_EVER, now_ms=NOW)
    assert found.pasts[2].recorded is None
    (note,) = found.notes
    assert "but its log begins at offset 90: an application deletes its records (DeleteRecords)" in note
