# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which keys of a compacted topic have a newer record than the saved one."""

from __future__ import annotations

import time
from collections.abc import Collection
from hashlib import blake2b

from .._model.partition import TopicPartition
from .headers import origin_of
from .log_reading import Ask, CommittedLog

_SETTLE_S = 60.0
"""Our own transactions are acknowledged some milliseconds before they can be read; others may take longer."""


def digest_of(key: bytes) -> bytes:
    """Return what stands for a key in memory."""
    return blake2b(key, digest_size=16).digest()


class NewerKeys:
    """The newest place of each wanted key in the log of a partition's leader, as (leader epoch, offset).

    A record that was given back stands for the place that it came from: giving the next saved record of its key back is
    then allowed, and one of a newer salvage is not overwritten by one of an older salvage.
    """

    def __init__(self, ask: Ask, partition: TopicPartition, offset: int, wanted: Collection[bytes]) -> None:
        """``offset`` is where the logs part: what lies before is in both. ``wanted`` are digests of keys."""
        self._log = CommittedLog(ask, partition, offset)
        self._wanted = wanted
        self._newest: dict[bytes, tuple[int, int]] = {}

    def read_on(self) -> None:
        """Read to the present end of the log.

        Raises OpenTransactionError, BrokerCallError or RequestRefusedError.
        """
        for epoch, record in self._log.read(time.monotonic() + _SETTLE_S):
            if record.key is None:
                continue
            digest = digest_of(record.key)
            if digest in self._wanted:
                place = origin_of(record.headers) or (epoch, record.offset)
                self._newest[digest] = max(place, self._newest.get(digest, place))

    def has_newer(self, key: bytes, epoch: int, offset: int) -> bool:
        found = self._newest.get(digest_of(key))
        return found is not None and found > (epoch, offset)
