# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of quorum_voter are checked before it opens a connection."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import Endpoint, Voter
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.voters import VoterOptionsError, parse_voter


def _params(port: int, **changes: Any) -> dict[str, Any]:
    endpoint = {"name": "CONTROLLER", "host": "c", "port": port}
    return {"state": "present", "voter_id": 104, "directory_id": None, "endpoints": [endpoint], **changes}


@pytest.mark.parametrize("port", [1, 65535])
def test_a_valid_port_is_accepted(port: int) -> None:
    assert parse_voter(_params(port)) == Voter(104, None, (Endpoint("CONTROLLER", "c", port),))


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_an_invalid_port_is_refused(port: int) -> None:
    with pytest.raises(VoterOptionsError, match=f"port {port} of CONTROLLER is not from 1 to 65535"):
        parse_voter(_params(port))


def test_every_error_is_reported() -> None:
    with pytest.raises(VoterOptionsError) as reported:
        parse_voter(_params(0, directory_id="x"))
    assert "endpoints: port 0" in str(reported.value)
    assert "directory_id: " in str(reported.value)
