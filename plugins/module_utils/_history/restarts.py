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

from .._model.metadata_history import BrokerChange, BrokerMoment, MetadataHistory


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
        """Whether its disk counts as it was when it stopped."""
        return self.was_clean and not self.left_elr and not self.log_dir_failed


def restarts_since(history: MetadataHistory, broker_id: int, since_ms: int) -> Iterator[BrokerRestart]:
    """Yield the restarts of a broker at a time of the metadata log or later, oldest first."""
    return (each for each in _restarts(history.brokers.get(broker_id, ())) if each.at_ms >= since_ms)


def has_new_disk(history: MetadataHistory, broker_id: int, since_ms: int) -> bool:
    """Return whether a broker came back with another log directory since a time."""
    return any(each.has_new_disk for each in restarts_since(history, broker_id, since_ms))


def knows_earlier_starts(history: MetadataHistory, broker_id: int, since_ms: int) -> bool:
    """Return whether the log that was read has the start of a broker before each of its restarts since a time."""
    return all(each.before is not None for each in restarts_since(history, broker_id, since_ms))


def _restarts(moments: Sequence[BrokerMoment]) -> Iterator[BrokerRestart]:
    """Yield each start of a broker.

    A registration in a snapshot is an earlier one: it was read before, or it is older than all that was read.
    """
    asked_for_stop = log_dir_failed = False
    epoch: int | None = None
    directories: tuple[str, ...] | None = None
    for moment in moments:
        if moment.change is BrokerChange.SHUTTING_DOWN:
            asked_for_stop = True
        elif moment.change is BrokerChange.LOG_DIR_FAILED:
            log_dir_failed = True
        elif moment.change is BrokerChange.REGISTERED and not moment.is_change and epoch in (None, moment.broker_epoch):
            # A snapshot has the directories that are online.
            log_dir_failed |= directories is not None and not {*directories} <= {*moment.directories}
            epoch, directories = moment.broker_epoch, directories or moment.directories
        elif moment.change is BrokerChange.REGISTERED:
            yield BrokerRestart(moment.at_ms, asked_for_stop, directories, moment.directories, log_dir_failed)
            asked_for_stop = log_dir_failed = False
            epoch, directories = moment.broker_epoch, moment.directories
