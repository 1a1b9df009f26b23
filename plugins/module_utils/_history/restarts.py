# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the restarts of a broker in the metadata log, and what they mean for its disks. Pure; standard library only.

A broker registers with its log directories since metadata.version 3.7 (KIP-858), and again whenever it starts. A change
of the registration says that it asked for a controlled shutdown, or that a log directory failed while it ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .._model.metadata_history import BrokerChange, BrokerMoment, MetadataHistory

_CLOCKS_MS = 10_000
"""How far the clocks of a host and of the controllers may differ."""


@dataclass(frozen=True, slots=True)
class BrokerRestart:
    """One start of a broker that had run before."""

    at_ms: int
    was_clean: bool
    """The broker asked for the stop before it. So it has flushed the logs in the directories that were online."""
    before: tuple[str, ...] | None
    """Its log directories until then. Empty if no record names them, None if its earlier start was not read."""
    after: tuple[str, ...]
    log_dir_failed: bool
    """One of its log directories went offline before. A controlled shutdown does not flush the logs in it."""
    left_elr: bool = False
    """Kafka took it out of the ELR of the partition in question by the same batch of records."""
    heard_at_ms: int | None = None
    """When its earlier process was heard last: it registered, or was unfenced. None if that was not read."""
    lost_at_ms: int | None = None
    """When the controllers noticed at last that its earlier process was gone. None if that was not read."""
    host_ran_on: bool = False
    """Its host did not lose power in between: what its earlier process wrote was not lost with the page cache."""

    @property
    def has_new_disk(self) -> bool:
        """Whether a log directory that it had is not there any more."""
        return bool(self.before and self.after) and not self.has_same_disk

    @property
    def has_same_disk(self) -> bool:
        """Whether all its log directories are known to be there again."""
        return bool(self.before) and {*(self.before or ())} <= {*self.after}

    @property
    def is_believed(self) -> bool:
        """Whether its disk counts as it was when its earlier process ended.

        Kafka takes a broker out of the ELR after each unclean stop. After a clean one, that has another cause.
        """
        is_as_left = not self.left_elr if self.was_clean else self.host_ran_on
        return is_as_left and not self.log_dir_failed


def restarts_since(history: MetadataHistory, broker_id: int, since_ms: int) -> Iterator[BrokerRestart]:
    """Yield the restarts of a broker at a time of the metadata log or later, oldest first."""
    return (each for each in _restarts(history.brokers.get(broker_id, ())) if each.at_ms >= since_ms)


def has_new_disk(history: MetadataHistory, broker_id: int, since_ms: int) -> bool:
    """Return whether a broker came back with another log directory since a time."""
    return any(each.has_new_disk for each in restarts_since(history, broker_id, since_ms))


def knows_earlier_starts(history: MetadataHistory, broker_id: int, since_ms: int) -> bool:
    """Return whether the log that was read has the start of a broker before each of its restarts since a time."""
    return all(each.before is not None for each in restarts_since(history, broker_id, since_ms))


def host_ran_on(history: MetadataHistory, broker_id: int, restart: BrokerRestart) -> bool:
    """Return whether the host of a broker surely did not lose power between a restart and the process before it.

    It booted before the last time at which the log proves that this process ran: a controller heard it then, or fenced
    it so soon after that it cannot have been silent since.
    """
    booted = history.host_boots.get(broker_id)
    if booted is None:
        return False
    heard = [] if restart.heard_at_ms is None else [restart.heard_at_ms]
    if restart.lost_at_ms is not None and history.silence_ms is not None:
        at_least = history.before_gaps(restart.lost_at_ms, history.silence_ms)
        # Before that, there may be times without a controller that were not read.
        heard += [at_least] if at_least >= history.begins_at_ms else []
    return any(booted + _CLOCKS_MS <= each for each in heard)


@lru_cache(maxsize=4096)
def _restarts(moments: tuple[BrokerMoment, ...]) -> tuple[BrokerRestart, ...]:
    """Return each start of a broker. Each partition asks for those of the same few brokers."""
    return tuple(_find_restarts(moments))


def _find_restarts(moments: Sequence[BrokerMoment]) -> Iterator[BrokerRestart]:
    """Yield each start of a broker.

    A registration in a snapshot is an earlier one: it was read before, or it is older than all that was read.
    """
    asked_for_stop = log_dir_failed = False
    epoch: int | None = None
    directories: tuple[str, ...] | None = None
    heard_at = fenced_at = None
    was_unfenced = False
    for moment in moments:
        if moment.change is BrokerChange.SHUTTING_DOWN:
            asked_for_stop = True
        elif moment.change is BrokerChange.LOG_DIR_FAILED:
            log_dir_failed = True
        elif moment.change is BrokerChange.FENCED:
            fenced_at = moment.at_ms
        elif moment.change is BrokerChange.UNFENCED:
            # A snapshot says that it was unfenced, not that it was heard at that time.
            was_unfenced, fenced_at = True, None
            heard_at = moment.at_ms if moment.is_change else heard_at
        elif moment.change is BrokerChange.REGISTERED and not moment.is_change and epoch in (None, moment.broker_epoch):
            # A snapshot has the directories that are online.
            log_dir_failed |= directories is not None and not {*directories} <= {*moment.directories}
            epoch, directories = moment.broker_epoch, directories or moment.directories
        elif moment.change is BrokerChange.REGISTERED:
            yield BrokerRestart(
                moment.at_ms,
                asked_for_stop,
                directories,
                moment.directories,
                log_dir_failed,
                heard_at_ms=heard_at,
                lost_at_ms=fenced_at or (moment.at_ms if was_unfenced else None),
            )
            asked_for_stop = log_dir_failed = was_unfenced = False
            epoch, directories = moment.broker_epoch, moment.directories
            heard_at, fenced_at = moment.at_ms if moment.is_change else None, None
