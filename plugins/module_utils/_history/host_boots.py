# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read when the hosts of brokers booted, as the operator says.

A process that is killed leaves what it wrote in the page cache, and its host writes it to the disk. A host that loses
power does not. Kafka has no record of either, so that only the operator can tell them apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .._model.partition import Broker
from .._model.run import KafkaOpsError
from .._module.connection import Arguments
from .._module.options import describe_unknown_brokers, read_time
from .._module.run import call_all

_NAME = "host_boot_times"
HOST_BOOTS = Arguments(argument_spec={_NAME: {"type": "dict"}})


class HostBootError(KafkaOpsError):
    """A key of the option is no broker id."""


def read_host_boots(params: Mapping[str, Any]) -> dict[int, int]:
    """Return when the host of each broker booted, in milliseconds of POSIX time.

    Raises KafkaOpsError with every value that cannot be used.
    """
    return dict(call_all(*(lambda each=each: _read(*each) for each in (params[_NAME] or {}).items())))


def _read(broker_id: Any, booted: Any) -> tuple[int, int]:
    text = str(broker_id).strip()
    if not (text.isascii() and text.isdecimal()):
        raise HostBootError(f"{_NAME} has {text!r}, which is no broker id: give ids from 0, each with a time")
    time = read_time(f"{_NAME} of broker {int(text)}", str(booted).strip())
    if time is None:
        raise HostBootError(f"{_NAME} has no time for broker {int(text)}")
    return int(text), round(time.timestamp() * 1000)


def describe_host_boots(boots: Mapping[int, int], brokers: Collection[Broker]) -> Iterator[str]:
    """Yield a note for each broker that was named, and that the cluster does not have."""
    return describe_unknown_brokers(_NAME, boots, brokers)
