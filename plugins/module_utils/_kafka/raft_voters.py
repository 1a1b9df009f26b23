# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Add and remove voters of a dynamic quorum (KIP-853: AddRaftVoter, API key 80; RemoveRaftVoter, API key 81).

Brokers forward both to the leader of the quorum.
"""

from __future__ import annotations

import uuid
from contextlib import suppress

from .._model.quorum import Voter
from . import error_codes
from .messages import parse_uuid
from .settings import Address
from .wire import Wire

_ANSWER_FIELDS = "ThrottleTimeMs int32, ErrorCode int16, ErrorMessage string?"

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from .messages import define_message

    AddRaftVoterRequest = define_message(
        80,
        "AddRaftVoterRequest",
        """
            ClusterId string?
            TimeoutMs int32
            VoterId int32
            VoterDirectoryId uuid
            Listeners []Listener
              Name string mapKey, Host string, Port uint16
            AckWhenCommitted bool 1+ default=true
        """,
        "0-1",
    )
    """The same in Kafka 3.9 (version 0) and 4.2 (version 1, AckWhenCommitted)."""

    AddRaftVoterResponse = define_message(80, "AddRaftVoterResponse", _ANSWER_FIELDS, "0-1")
    """Both versions are the same."""

    RemoveRaftVoterRequest = define_message(
        81,
        "RemoveRaftVoterRequest",
        "ClusterId string?, VoterId int32, VoterDirectoryId uuid",
    )
    """The same from Kafka 3.9 on."""

    RemoveRaftVoterResponse = define_message(81, "RemoveRaftVoterResponse", _ANSWER_FIELDS)
    """The same from Kafka 3.9 on."""


def add_voter(wire: Wire, address: Address, cluster_id: str, voter: Voter) -> None:
    """Request to add a voter. The answer comes when it has caught up and the new set of voters is committed.

    Raises ValueError for a voter without a directory id. RequestRefusedError: nothing was changed, or the leader
    stopped waiting. BrokerCallError: the outcome is unknown.
    """
    message = AddRaftVoterRequest
    request = message(
        cluster_id=cluster_id,
        timeout_ms=wire.settings.request_timeout_ms,
        voter_id=voter.voter_id,
        voter_directory_id=_directory(voter),
        listeners=[message.Listener(name=each.name, host=each.host, port=each.port) for each in voter.endpoints],
        ack_when_committed=True,
    )
    error_codes.raise_if_refused("AddRaftVoter", wire.call(address, request))


def remove_voter(wire: Wire, address: Address, cluster_id: str, voter: Voter) -> None:
    """Request to remove a voter. The answer comes when the new set of voters is committed.

    Raises ValueError for a voter without a directory id. RequestRefusedError: nothing was changed, or the leader
    stopped waiting. BrokerCallError: the outcome is unknown.
    """
    request = RemoveRaftVoterRequest(
        cluster_id=cluster_id,
        voter_id=voter.voter_id,
        voter_directory_id=_directory(voter),
    )
    error_codes.raise_if_refused("RemoveRaftVoter", wire.call(address, request))


def _directory(voter: Voter) -> uuid.UUID:
    if voter.directory_id is None:
        raise ValueError("a voter without a directory id cannot be added or removed")
    return parse_uuid(voter.directory_id)
