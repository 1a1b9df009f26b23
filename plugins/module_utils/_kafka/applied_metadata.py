# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find brokers that apply metadata late. The offset up to which a broker has applied it is in ApiVersions (KIP-584).

A loaded broker may fetch metadata in time and apply it late.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from .._model.run import Clock, looks
from . import quorum
from .errors import BrokerCallError
from .settings import Address, ConnectionSettings

LIMIT_MS = 2000
"""How long one answer may take."""
PATIENCE_S = 5.0
"""How long a broker may take to apply what was committed, before nothing is moved to it and no setting is changed."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class Asker(Protocol):
    """The methods of Wire that a check uses."""

    settings: ConnectionSettings

    def call(self, address: Address, request: Any, *, timeout_ms: int | None = None) -> Any: ...

    def call_any(
        self,
        make_request: Callable[[], Any],
        name: str,
        *,
        timeout_ms: int | None = None,
        avoid: Collection[Address] = (),
    ) -> tuple[Any, Address]: ...

    def in_parallel(self, work: Callable[[Key], Value], keys: Iterable[Key]) -> dict[Key, Value | BrokerCallError]: ...

    def known_addresses(self) -> Collection[Address]: ...

    def remember_addresses(self, brokers: Mapping[int, Address]) -> None: ...


def find_backlogs(
    wire: Asker, clock: Clock, addresses: Collection[Address], high_watermark: int | None, patience_s: float
) -> dict[Address, str]:
    """Return what brokers lack of what was committed when this is called, some time after it, in words.

    They follow the controllers, and act on old metadata all the same: one that is elected does not lead before it has
    applied that, and its own settings are old ones. A broker that does not answer is left out.
    """
    if high_watermark is None:
        return {}
    newest, behind = high_watermark - 1, dict.fromkeys(addresses, -1)
    for _look in looks(clock, patience_s):
        offsets = read_applied_offsets(wire, behind)
        behind = {address: offset for address, offset in offsets.items() if offset < newest}
        if not behind:
            break
    return {
        address: (
            f"it ends at offset {applied}, and {patience_s:g} s ago the controllers had committed {newest}. Find "
            "out what slows it down, or wait until it has caught up"
        )
        for address, applied in behind.items()
    }


def read_applied_offsets(wire: Asker, addresses: Collection[Address]) -> dict[Address, int]:
    """Return the offset of the last record of the metadata log that each broker has applied, where it answers."""
    limit_ms = min(wire.settings.request_timeout_ms, LIMIT_MS)
    answers = wire.in_parallel(
        lambda address: wire.call(address, quorum.features_request(), timeout_ms=limit_ms), addresses
    )
    return {
        address: answer.finalized_features_epoch
        for address, answer in answers.items()
        if not isinstance(answer, BrokerCallError) and answer.finalized_features_epoch >= 0
    }
