# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A dynamic quorum of several controllers, IPv6, and broker ids at their limit."""

from __future__ import annotations

import pytest

from lab import Cluster

pytestmark = [pytest.mark.on_any_version, pytest.mark.wide]

LARGEST_ID = 2**31 - 1


def test_three_controllers_survive_the_loss_of_one(kafka_version: str) -> None:
    with Cluster(
        kafka_version, brokers=(1, LARGEST_ID), controllers=3, dynamic_quorum=True, host="::1", heap="128m"
    ) as cluster:
        assert cluster.bootstrap().startswith("[::1]:")
        cluster.controllers[102].kill()
        cluster.client.create_topic("after", {0: [1, LARGEST_ID]})
        assert cluster.client.leader("after") == 1
        cluster.controllers[102].wipe()
        cluster.controllers[102].start()
