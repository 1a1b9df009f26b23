# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that applies metadata late shows old settings of its own: what another party has set there is kept."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from kafka.protocol.api_key import ApiKey

from lab import Cluster, settings, wait_until
from lab.cleaner import own_settings
from lab.module_process import run_module
from lab.slow_metadata import LATE_MS, SlowMetadata

SLOW = 3
NAME = "log.cleaner.backoff.ms"


@pytest.mark.wide
@pytest.mark.on_every_version
def test_the_setting_of_another_party_is_not_undone(cluster: Cluster) -> None:
    slow = SlowMetadata(cluster.brokers[SLOW])
    slow.prepare()
    broker = cluster.brokers[SLOW]
    admin = AdminClient({"bootstrap.servers": settings.address(broker.host, broker.ports[settings.INTERNAL])})
    entry = ConfigEntry(NAME, "20000", incremental_operation=AlterConfigOpType.SET)
    theirs = ConfigResource(ConfigResource.Type.BROKER, str(SLOW), incremental_configs=[entry])
    given = {"bootstrap_servers": [cluster.bootstrap()], "brokers": [SLOW], "metrics_source": "none"}
    cluster.proxy.clear()
    with slow.applied_late():
        admin.incremental_alter_configs([theirs])[theirs].result(30)
        assert own_settings(admin, SLOW) == {}, "the broker has not applied it"
        restarted = run_module("log_cleaner", {**given, "force": True, "verify_timeout_ms": 2000})
        changed = run_module("log_cleaner", {**given, "state": "configured", "settings": {"backoff_ms": 15000}})
    for reported in (restarted, changed):
        assert [each["status"] for each in reported.get("outcomes", ())] == ["failed"], reported
        assert "this broker applies metadata late" in reported["msg"]
    edits = [each for each in cluster.proxy.write_requests() if each.api_key == ApiKey.IncrementalAlterConfigs]
    assert [name for edit in edits for name in edit.decode().resources if name.resource_name == str(SLOW)] == []
    wait_until(lambda: own_settings(admin, SLOW), 2 * LATE_MS / 1000, what="the broker shows its settings")
    assert own_settings(admin, SLOW) == {NAME: "20000"}
