# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options and results of module quorum_log_info. Decides nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .._documents.dataclass_json import codec
from .._kafka.settings import Address
from .._model.log_contents import EpochRange
from .._module.connection import Arguments
from .beyond import Overtaken
from .copy import CopyState, LogCopy
from .journal import PendingRecovery, read_pending
from .node import NodeFileError, read_properties
from .plan import encode_plan
from .scan import CopyReading, read_copy

LOG_INFO = Arguments(
    argument_spec={
        "host": {"type": "str", "default": "localhost"},
        "properties": {"type": "path"},
        "log_dir": {"type": "path"},
        "lacking": {"type": "list", "elements": "list"},
    },
    required_one_of=[("properties", "log_dir")],
)
_CONNECT_TIMEOUT_S = 1.0
COPY = codec(LogCopy, "a copy of the metadata log is an object")
OVERTAKEN = codec(Overtaken, "overtaken replicas are an object")


def look(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the module's results. Problems of the files are results, because a lost disk is what it looks for."""
    host, log_dir = params["host"], params["log_dir"] or ""
    pending = None
    try:
        properties = read_properties(params["properties"]) if params["properties"] else None
        log_dir = log_dir or (properties.require_log_dir() if properties else "")
        lacking = tuple(EpochRange(*each) for each in params["lacking"] or ())
        reading = read_copy(host, log_dir, properties, lacking=lacking)
        pending = read_pending(log_dir)
    except NodeFileError as error:
        unreadable = LogCopy(
            host=host,
            properties_file=params["properties"],
            log_dir=log_dir,
            state=CopyState.UNREADABLE,
            reason=str(error),
        )
        reading = CopyReading(unreadable)
    return {
        "changed": False,
        "log": COPY.encode(reading.copy),
        "answering": _answering(reading.copy, pending),
        "beyond": reading.beyond,
        "beyond_records": reading.beyond_count,
        "overtaken": [OVERTAKEN.encode(each) for each in reading.overtaken],
        "pending_plan": encode_plan(pending.plan) if pending else None,
        "pending_step": pending.step.value if pending else None,
    }


def _answering(copy: LogCopy, pending: PendingRecovery | None) -> dict[str, str]:
    """Return where other voters accept a connection, by their ids. Nothing is sent.

    A log that was changed does not name its old voters any more. The journal does.
    """
    static = [(each.voter_id, Address(each.host, each.port)) for each in copy.static_voters]
    dynamic = [(each.voter_id, Address(one.host, one.port)) for each in copy.voters for one in each.endpoints]
    before = pending.plan.old_voters if pending is not None else ()
    old = [(each.voter_id, Address(one.host, one.port)) for each in before for one in each.endpoints]
    others = {(voter, where) for voter, where in (*static, *dynamic, *old) if voter != copy.node_id}
    return {str(voter): str(where) for voter, where in _accepting(others)}


def _accepting(others: Iterable[tuple[int, Address]]) -> list[tuple[int, Address]]:
    asked = sorted(others)
    if not asked:
        return []
    with ThreadPoolExecutor(max_workers=len(asked)) as pool:
        return [each for each, accepts in zip(asked, pool.map(_accepts, asked), strict=True) if accepts]


def _accepts(voter: tuple[int, Address]) -> bool:
    try:
        with socket.create_connection((voter[1].host, voter[1].port), _CONNECT_TIMEOUT_S):
            return True
    except OSError:
        return False
