# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the controllers for the history of offline partitions, and the survivors for the times of their logs. Reads only.

Nothing here raises for what does not answer: what is missing is named, and everything else goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from .._kafka.cluster import online_addresses
from .._kafka.errors import BrokerCallError
from .._kafka.held_replicas import OffsetAnswer, only_answers
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.background import in_background
from .._model.metadata_history import MetadataHistory, PartitionHistory
from .._model.outage import Outage
from .._model.partition import MIN_ISR, Broker, PartitionState, TopicPartition
from .._model.reasons import plural
from .._model.run import KafkaOpsError
from .._module.connection import Arguments
from .directory import confirmed
from .explanation import LogRate, LogTimes, NoticeLimits, explain_outage
from .host_boots import HOST_BOOTS
from .reading import HistoryLimits, HistoryQuestion, ReadHistory, read_history, side_to_read

HISTORY = HOST_BOOTS + Arguments(
    argument_spec={
        "max_bytes": {"type": "int", "default": 256 * 1024 * 1024},
        "max_seconds": {"type": "int", "default": 10},
        "metadata_log_dir": {"type": "path"},
    }
)

_WINDOWS_MS = (600_000, 60_000, 10_000)
"""The times before the newest record over which the rate is measured. The first one is that of the estimate."""
_DAY_MS = 24 * 3_600_000
_REPLICA_LAG = "replica.lag.time.max.ms"
_SESSION = "broker.session.timeout.ms"


class HistoryOptionsError(KafkaOpsError):
    """A limit cannot be used."""


@dataclass(frozen=True, slots=True)
class FoundOutages:
    """What is known of each offline partition, and what was read of the metadata log."""

    outages: Mapping[TopicPartition, Outage]
    read: ReadHistory


def find_outages(
    kafka: Kafka,
    offline: Sequence[PartitionState],
    brokers: Collection[Broker],
    *,
    cluster_id: str,
    limits: HistoryLimits,
    log_dir: str | None = None,
    host_boots: Mapping[int, int] = MappingProxyType({}),
) -> FoundOutages:
    """Return what is known of the outage of each offline partition.

    Needs CLUSTER_ACTION at the controllers, or ``log_dir``, a directory with a copy of the metadata log. ``host_boots``
    has when hosts of brokers booted, in milliseconds of POSIX time.
    """
    states = {each.topic_partition: each for each in offline}
    if not states:
        return FoundOutages({}, ReadHistory(None, ""))
    online = online_addresses(brokers)
    question = HistoryQuestion(
        {each: state.topic_id for each, state in states.items()},
        {each: tuple(b for b in state.replicas if b in online) for each, state in states.items()},
        (MIN_ISR,),
    )

    def read_metadata_log() -> ReadHistory:
        return read_history(side_to_read(kafka, log_dir), cluster_id, question, limits=limits, log_dir=log_dir)

    # The controllers and the survivors are asked at the same time.
    reading = in_background(read_metadata_log, "metadata log")
    times, missing = _read_log_times(kafka, states, online, {})
    read = reading.result()
    times, doubtful = without_impossible_times(times, read.history.ends_at_ms if read.history is not None else 0)
    missing += doubtful
    if read.is_copy and read.history is not None:
        history, more = confirmed(read.history, states, read.source)
        read = replace(read, history=history, missing="; ".join(filter(None, [read.missing, *more])))
    sources: list[str] = []
    limits_of_notice, doubts = NoticeLimits(), list[str]()
    if read.history is not None:
        sources = [read.source]
        late = _find_late(read.history, times)
        again, _said_before = _read_log_times(
            kafka, states, {each: online[each] for each in {b for _p, b in late}}, late
        )
        for partition, broker_id in late:
            found = again[partition].get(broker_id, LogTimes())
            times[partition][broker_id] = replace(times[partition][broker_id], rates=found.rates)
        limits_of_notice, doubts = _read_limits(kafka, online)
        history = replace(read.history, host_boots=host_boots, silence_ms=limits_of_notice.silence_ms)
        read = replace(read, history=history)
    if any(each.ends_at_ms is not None for of_partition in times.values() for each in of_partition.values()):
        sources.append("the timestamps of the survivors' records")
    missing = [*filter(None, [read.missing]), *missing, *doubts]
    outages = explain_outage(read.history, times, limits_of_notice, sources, missing)
    return FoundOutages(outages, read)


def begin_to_find_outages(
    kafka: Kafka,
    offline: Sequence[PartitionState],
    brokers: Collection[Broker],
    cluster_id: str,
    limits: HistoryLimits,
    *,
    log_dir: str | None = None,
    host_boots: Mapping[int, int] = MappingProxyType({}),
) -> Callable[[], Mapping[TopicPartition, Outage]]:
    """Begin ``find_outages`` in the background, and return a function that waits for it.

    The function waits at most for the seconds of ``limits``. It never raises: what is missing is named.
    """
    begun = in_background(
        lambda: (
            find_outages(
                kafka, offline, brokers, cluster_id=cluster_id, limits=limits, log_dir=log_dir, host_boots=host_boots
            ).outages
        ),
        "history",
    )

    def wait() -> Mapping[TopicPartition, Outage]:
        try:
            return begun.result(limits.max_seconds)
        except TimeoutError:
            missing = f"the history was not read within {limits.max_seconds:.0f} s"
        except KafkaOpsError as error:
            missing = str(error)
        except Exception as error:  # noqa: BLE001 - whatever happens to the history must not cost the recovery
            missing = f"the history was not read, by a defect of this collection: {type(error).__name__}: {error}"
        nothing: dict[TopicPartition, dict[int, LogTimes]] = {each.topic_partition: {} for each in offline}
        return explain_outage(None, nothing, NoticeLimits(None, None), missing=[missing])

    return wait


def history_limits(params: Mapping[str, Any]) -> HistoryLimits:
    """Read the parameters of HISTORY. Raises HistoryOptionsError."""
    wrong = [f"{name} is {params[name]}" for name in ("max_bytes", "max_seconds") if params[name] < 1]
    if wrong:
        raise HistoryOptionsError(f"{' and '.join(wrong)}: give a number from 1 on")
    return HistoryLimits(params["max_bytes"], params["max_seconds"])


def _read_ms(kafka: Kafka, online: Mapping[int, Address], name: str) -> list[int]:
    """Return the different values of a time that brokers have which are online: the last leader cannot be asked."""
    return sorted({each for each in kafka.broker_numbers(online, name) if each is not None})


def _read_session(kafka: Kafka, online: Mapping[int, Address]) -> tuple[int | None, list[str]]:
    """Return the session timeout after which the controllers fence a dead broker, and what is not known about it.

    The active controller decides by its own properties. If these differ, the longest is returned. A broker's value is
    only a guess.
    """
    own = kafka.controller_configs(_SESSION)
    values = [int(each) for each in own.values.values() if each and each.isdecimal()]
    if values:
        return max(values), []
    guesses = _read_ms(kafka, online, _SESSION)
    if not guesses:
        return None, [_explain_unread(_SESSION)]
    guess, why = guesses[-1], own.unknown or "no controller has a value"
    doubt = f"the controllers' own {_SESSION} is unknown ({why}); the estimates assume {guess} ms, which brokers have"
    return guess, [doubt]


def _read_limits(kafka: Kafka, online: Mapping[int, Address]) -> tuple[NoticeLimits, list[str]]:
    """Return how late an ISR shrinks and a leader's death is noticed, and what is not known about it."""
    session_ms, doubts = _read_session(kafka, online)
    lags = _read_ms(kafka, online, _REPLICA_LAG)
    limits = NoticeLimits(lags[-1] if lags else None, session_ms, session_is_known=not doubts)
    if not lags:
        return limits, [*doubts, _explain_unread(_REPLICA_LAG)]
    if len(lags) > 1:
        doubts = [
            *doubts,
            f"brokers differ in {_REPLICA_LAG} ({', '.join(map(str, lags))}), and the last leader cannot be asked: the "
            "greatest value is assumed for it",
        ]
    return limits, doubts


def _explain_unread(name: str) -> str:
    return f"no broker says what {name} is: grant DESCRIBE_CONFIGS on the cluster to this principal"


_Replica: TypeAlias = "tuple[TopicPartition, int]"


def without_impossible_times(
    times: Mapping[TopicPartition, Mapping[int, LogTimes]], ends_at_ms: int, now_ms: int | None = None
) -> tuple[dict[TopicPartition, dict[int, LogTimes]], list[str]]:
    """Return the times of logs without those of the far future, and a text about these.

    The producer of such a record has a wrong clock, or another unit than milliseconds. ``ends_at_ms`` is when the
    metadata log ends, 0 if that is not known.
    """
    now = round(time.time() * 1000) if now_ms is None else now_ms
    latest = max(now, ends_at_ms) + _DAY_MS
    kept: dict[TopicPartition, dict[int, LogTimes]] = {}
    wrong: list[TopicPartition] = []
    for partition, of_partition in times.items():
        late = {each for each, found in of_partition.items() if (found.ends_at_ms or 0) > latest}
        wrong += [partition] if late else []
        kept[partition] = {
            each: LogTimes(found.end_offset) if each in late else found for each, found in of_partition.items()
        }
    if not wrong:
        return kept, []
    return kept, [
        f"when the logs of {plural(len(wrong), 'partition')}, such as {wrong[0]}, end is not known: the timestamp of "
        "a record is more than a day in the future, so the clock or the unit of its producer is wrong"
    ]


def _find_late(history: MetadataHistory, times: Mapping[TopicPartition, Mapping[int, LogTimes]]) -> dict[_Replica, int]:
    """Return when a survivor left the ISR, if its newest record is younger.

    The replica came back as a leader that did not know yet that another one led, or it was catching up. Nothing was
    written to it in between. So its log only shows how fast the partition was written until the replica left.
    """
    late = {}
    for partition, of_partition in times.items():
        found = history.partitions.get(partition, PartitionHistory())
        for broker_id, each in of_partition.items():
            left = found.left_isr_at_ms(broker_id)
            if left is not None and each.ends_at_ms is not None and each.ends_at_ms > left:
                late[partition, broker_id] = left
    return late


def _read_log_times(
    kafka: Kafka,
    states: Mapping[TopicPartition, PartitionState],
    online: Mapping[int, Address],
    until_ms: Mapping[_Replica, int],
) -> tuple[dict[TopicPartition, dict[int, LogTimes]], list[str]]:
    """Return the log end of each survivor, with its time and rates, and a text for each broker that does not answer.

    ``until_ms``: when the time ends over which the rates are measured, if not with the newest record. If there is any,
    only these replicas are asked.
    """
    of_broker = {
        broker_id: [
            each
            for each, state in states.items()
            if broker_id in state.replicas and (not until_ms or (each, broker_id) in until_ms)
        ]
        for broker_id in online
    }
    asked = {broker_id: partitions for broker_id, partitions in of_broker.items() if partitions}

    def ask(broker_id: int) -> dict[TopicPartition, LogTimes]:
        until = {each: until_ms[each, broker_id] for each in asked[broker_id] if (each, broker_id) in until_ms}
        return dict(_ask_broker(kafka, online[broker_id], asked[broker_id], until))

    answers = kafka.in_parallel(ask, asked)
    found: dict[TopicPartition, dict[int, LogTimes]] = {each: {} for each in states}
    missing = []
    for broker_id, partitions in asked.items():
        answer = answers[broker_id]
        if isinstance(answer, BrokerCallError):
            missing.append(f"broker {broker_id} does not say when its logs end: {answer}")
        for partition in partitions:
            known = {} if isinstance(answer, BrokerCallError) else answer
            found[partition][broker_id] = known.get(partition, LogTimes())
    return found, missing


def _ask_broker(
    kafka: Kafka, address: Address, partitions: Sequence[TopicPartition], until_ms: Mapping[TopicPartition, int]
) -> Iterator[tuple[TopicPartition, LogTimes]]:
    """Yield what one broker says. Raises BrokerCallError."""
    ends = only_answers(kafka.log_end_offsets(address, partitions))
    newest = {
        each: answer
        for each, answer in only_answers(kafka.newest_records(address, partitions)).items()
        if answer.time_ms > 0
    }
    # Several producers, or one that dates its records back, may have written after the record of the greatest time.
    last = {each: (ends[each].offset - 1, answer.time_ms) for each, answer in newest.items() if each in ends}
    if until_ms:
        after = only_answers(kafka.offsets_at(address, until_ms))
        last |= {each: (answer.offset, until_ms[each]) for each, answer in after.items() if answer.offset >= 0}
    firsts = {
        window: only_answers(
            kafka.offsets_at(address, {each: max(at - window, 0) for each, (_end, at) in last.items()})
        )
        for window in (_WINDOWS_MS if last else ())
    }
    rates = {
        each: measure_rates(offset, at, {window: found[each] for window, found in firsts.items() if each in found})
        for each, (offset, at) in last.items()
    }
    for each, end in ends.items():
        newest_of = newest.get(each)
        if newest_of is None:
            yield each, LogTimes(end.offset)
        else:
            yield each, LogTimes(end.offset, newest_of.time_ms, rates[each])


def measure_rates(offset: int, at_ms: int, firsts: Mapping[int, OffsetAnswer]) -> tuple[LogRate, ...]:
    """Return how fast a log grew until ``at_ms``, the greatest timestamp in it. ``offset`` is that of its last record.

    ``firsts`` has the first record of each window, by the window's milliseconds, the longest first. If an earlier
    record is in a longer window, the whole window counts, because a burst at the end of it is no rate. Otherwise, the
    time from the first record on counts.
    """
    rates: list[LogRate] = []
    earliest = offset
    for window, first in firsts.items():
        rate = LogRate(offset - first.offset, window if first.offset > earliest else at_ms - first.time_ms)
        if first.offset >= 0:
            earliest = min(earliest, first.offset)
            if rate.records > 0 and rate not in rates:
                rates.append(rate)
    return tuple(rates)
