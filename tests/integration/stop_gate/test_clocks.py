# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tickets of hosts whose clocks are wrong by 90 minutes: the active controller's clock decides."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from integration.stop_gate.tickets import left_of, tickets_in
from lab import Cluster
from lab.module_process import results, start_module

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_WRONG_CLOCK = """
import datetime, time

_real, _off = time.time, {minutes} * 60

class Shifted(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

time.time = lambda: _real() + _off
datetime.datetime = Shifted
"""
"""Python runs it at its start. faketime cannot do it: with a clock that is behind, no Python process can sleep."""


def ask_by(directory: Path, minutes: int, options: Mapping[str, object]) -> dict[str, Any]:
    """Run stop_gate on a host whose clock is ahead by some minutes."""
    (directory / "sitecustomize.py").write_text(_WRONG_CLOCK.format(minutes=minutes), encoding="utf-8")
    return results(start_module("stop_gate", options, python_path=directory))


@pytest.mark.parametrize(("first", "second"), [(-90, 0), (0, 90), (90, -90), (-90, 90), (-90, -90)])
def test_of_two_hosts_with_other_clocks_only_one_gets_the_ticket(
    cluster: Cluster, tmp_path: Path, first: int, second: int
) -> None:
    cluster.client.create_topic("orders", {0: [1, 3, 5], 1: [2, 4, 5]}, {"min.insync.replicas": 1})
    connection = {"bootstrap_servers": cluster.bootstrap()}
    one = connection | {"brokers": [3, 4], "owner": "one", "minutes": 60}
    two = connection | {"brokers": [1], "owner": "two", "minutes": 60}

    taken = ask_by(tmp_path, first, one | {"take": True})
    assert taken["verdict"] == "yes", taken
    left = left_of(tickets_in(cluster)["one"])
    looked = ask_by(tmp_path, second, two)
    refused = ask_by(tmp_path, second, two | {"take": True})
    other = ask_by(
        tmp_path, second, connection | {"brokers": [3], "owner": "two", "release": True, "release_timeout_ms": 0}
    )

    assert [each["kind"] for each in looked["reasons"]] == ["ticket"], looked
    assert [each["kind"] for each in refused["reasons"]] == ["ticket"], refused
    assert [each["owner"] for each in other["tickets"]] == ["one"], other
    assert [*tickets_in(cluster)] == ["one"]
    # Nobody is blocked for longer than the owner asked for.
    assert timedelta(minutes=58) < left <= timedelta(minutes=60)
    released = ask_by(tmp_path, second, one | {"release": True})
    assert released["verdict"] == "yes", released
    assert tickets_in(cluster) == {}
