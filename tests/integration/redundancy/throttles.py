# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The throttles that a run sets, read by confluent-kafka."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from lab import Cluster

_UNLIMITED = ("", "9223372036854775807", None)


def throttles(cluster: Cluster, topic: str) -> list[tuple[str, str]]:
    """Return each throttle that is set on a topic or on a broker that is up, and where."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap("INTERNAL"), "log_level": 0})
    resources = [
        ConfigResource(ResourceType.TOPIC, topic),
        *(ConfigResource(ResourceType.BROKER, str(each.node_id)) for each in cluster.live_brokers),
    ]
    return [
        (resource.name, name)
        for resource in resources
        for name, entry in admin.describe_configs([resource])[resource].result(30).items()
        if "throttled" in name and entry.value not in _UNLIMITED
    ]
