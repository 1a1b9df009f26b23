# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which requests and features a broker has, and what the cluster has finalized (ApiVersions, API key 18, KIP-584).

No RPC returns a broker's release. Its requests and its newest metadata.version distinguish releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .addresses import Address
from .quorum import features_request
from .wire import Wire


@dataclass(frozen=True, slots=True)
class Offer:
    """What one broker has."""

    requests: Mapping[int, int]
    """Newest version by API key."""
    supported: Mapping[str, int]
    """Newest level of each feature."""
    finalized: Mapping[str, int]
    """Level of each feature in this cluster. A feature at level 0 is left out."""


def read_offer(wire: Wire, address: Address) -> Offer:
    """Ask one broker.

    Raises BrokerCallError.
    """
    answer = wire.call(address, features_request())
    return Offer(
        {each.api_key: each.max_version for each in answer.api_keys},
        {each.name: each.max_version for each in answer.supported_features or ()},
        {each.name: each.max_version_level for each in answer.finalized_features or ()},
    )
