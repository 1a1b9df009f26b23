# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Over thousands of histories, the forecast is exact, and the ranking keeps its guarantees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import Stretches
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import forecast_losses
from unit.recovery.fake_replicated_log import FakeReplicatedLog, Record

Place = tuple[int, int]
Deed = Callable[[FakeReplicatedLog], None]

BROKER_IDS = range(1, 5)
COUNTS = range(1, 5)
MANY = 400


def _deeds() -> Iterator[Deed]:
    for number in COUNTS:
        yield partial(FakeReplicatedLog.append, records=number)
        yield FakeReplicatedLog.kill_leader
        yield FakeReplicatedLog.start_isr
    for broker_id in BROKER_IDS:
        yield partial(FakeReplicatedLog.kill, broker_id=broker_id)
        yield partial(FakeReplicatedLog.start, broker_id=broker_id)
        yield partial(FakeReplicatedLog.leave_isr, broker_id=broker_id)
        yield partial(FakeReplicatedLog.wipe, broker_id=broker_id)
        yield partial(FakeReplicatedLog.fetch, broker_id=broker_id, most=1000)
        for number in COUNTS:
            yield partial(FakeReplicatedLog.fetch, broker_id=broker_id, most=number)
        yield partial(FakeReplicatedLog.retain, broker_id=broker_id, records=2)


CLEAN = list(_deeds())
UNCLEAN = CLEAN + [partial(FakeReplicatedLog.elect_unclean, broker_id=broker_id) for broker_id in BROKER_IDS]


def _after(history: bytes, survivors: set[int], deeds: list[Deed]) -> FakeReplicatedLog:
    log = FakeReplicatedLog(BROKER_IDS)
    for each in history:
        deeds[each % len(deeds)](log)
    log.lose_the_leader()
    log.alive |= survivors - set(log.isr)
    return log


def outages(deeds: list[Deed] = UNCLEAN) -> st.SearchStrategy[FakeReplicatedLog]:
    """Generate partitions with a history, whose last ISR is dead, and with at least one other live replica.

    A history is drawn as bytes, one for each deed: that is many times faster than drawing deeds.
    """
    survivors = st.sets(st.sampled_from(BROKER_IDS), min_size=2)
    histories = st.builds(partial(_after, deeds=deeds), st.binary(min_size=20, max_size=100), survivors)
    return histories.filter(lambda log: bool(log.alive))


def places(stretches: Stretches) -> set[Place]:
    return {(each.epoch, offset) for each in stretches for offset in range(each.start_offset, each.end_offset)}


def places_of(records: set[Record]) -> set[Place]:
    return {(each.epoch, each.offset) for each in records}


@settings(max_examples=MANY)
@given(outages())
def test_the_same_epoch_and_offset_is_the_same_record(log: FakeReplicatedLog) -> None:
    everything = {each for replica in log.replicas.values() for each in replica.records}
    assert len(places_of(everything)) == len(everything)


@settings(max_examples=MANY)
@given(outages())
def test_the_loss_against_replicas_that_answered_is_exact_except_undetermined_records(log: FakeReplicatedLog) -> None:
    candidates = log.candidates()
    for each in forecast_losses(log.state(), candidates, ()):
        others = {one.broker_id for one in candidates} - {each.broker_id}
        lost = log.held_by_others(each.broker_id, others)
        assert places(each.lost) <= places_of(lost)
        assert each.at_most is not None
        assert each.at_least <= len(lost) <= each.at_most
        assert each.at_least == each.at_most or not all(one.is_exact for one in each.against)
        for against in each.against:
            assert against.lost is not None
            truly = places_of(log.held_by_others(each.broker_id, {against.broker_id}))
            assert places(against.lost) <= truly <= places(against.lost) | places(against.undetermined)
            assert places(against.deleted) <= places_of(log.replicas[each.broker_id].deleted)


@settings(max_examples=MANY)
@given(outages())
def test_the_divergence_offset_is_the_first_different_record(log: FakeReplicatedLog) -> None:
    for each in forecast_losses(log.state(), log.candidates(), ()):
        mine = log.replicas[each.broker_id]
        for against in each.against:
            theirs = log.replicas[against.broker_id]
            shared = set(mine.records) & set(theirs.records)
            if shared:
                assert against.divergence_offset == max(one.offset for one in shared) + 1
            elif against.divergence_offset is not None:
                assert against.divergence_offset <= max(mine.start, theirs.start)


@settings(max_examples=MANY)
@given(outages())
def test_the_known_records_of_silent_replicas_are_true(log: FakeReplicatedLog) -> None:
    silent = log.replicas.keys() - log.alive
    for each in forecast_losses(log.state(), log.candidates(), silent):
        mine = log.replicas[each.broker_id]
        for against in each.against:
            if not against.answered and against.lost is not None:
                theirs = log.replicas[against.broker_id]
                held = places_of({*theirs.records, *theirs.deleted})
                assert places(against.lost) <= held - places_of(set(mine.records))


@settings(max_examples=MANY)
@given(outages())
def test_rank_1_holds_what_any_candidate_holds_of_the_newest_leaders_log(log: FakeReplicatedLog) -> None:
    candidates = log.candidates()
    first = candidates[0]
    assume(first.last_written_epoch in log.led)
    lost = log.held_by_others(first.broker_id, {each.broker_id for each in candidates})
    assert not lost & log.led[first.last_written_epoch or 0]


@settings(max_examples=MANY)
@given(outages(CLEAN))
def test_without_unclean_elections_rank_1_holds_every_acknowledged_record_that_any_candidate_holds(
    log: FakeReplicatedLog,
) -> None:
    candidates = log.candidates()
    lost = log.held_by_others(candidates[0].broker_id, {each.broker_id for each in candidates})
    assert not lost & log.acknowledged


@settings(max_examples=MANY)
@given(outages())
def test_rank_1_holds_all_records_if_any_candidate_does(log: FakeReplicatedLog) -> None:
    candidates = log.candidates()
    forecasts = forecast_losses(log.state(), candidates, ())
    has_all = [each for each in forecasts if each.at_most == 0]
    assume(has_all)
    assert not forecasts[0].lost


def test_rank_1_can_lose_records_that_were_read_but_not_acknowledged() -> None:
    """Raft's figure 8: a leader that writes nothing commits records of an older epoch."""
    log = FakeReplicatedLog(range(1, 4))
    log.append(2)
    log.fetch(3, 1000)
    log.kill_leader()
    log.append(1)
    log.kill_leader()
    assert (log.leader, log.isr) == (3, [3])
    log.lose_the_leader()
    log.alive = {1, 2}
    first, second = log.candidates()
    lost = log.held_by_others(first.broker_id, {second.broker_id})
    assert (first.broker_id, len(lost & log.readable), len(lost & log.acknowledged)) == (2, 2, 0)
