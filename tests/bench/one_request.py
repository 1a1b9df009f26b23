#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The minimum of an Ansible module with kafka-python: count offline partitions by one request to one broker.

Without TLS, authentication, timeouts, other brokers or doubts. Benchmark healthy shows what it takes.
"""

from __future__ import annotations

import socket
import struct

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.package import defer_clients

defer_clients()

from kafka.protocol.metadata import MetadataRequest, MetadataResponse  # noqa: E402  # not before the line above

_NO_LEADER = -1


def main() -> None:
    """Return the number of partitions that have no leader by the first bootstrap server."""
    module = AnsibleModule({"bootstrap_servers": {"type": "str", "required": True}}, supports_check_mode=True)
    host, port = module.params["bootstrap_servers"].split(",")[0].rsplit(":", 1)
    request = MetadataRequest[9](topics=None, allow_auto_topic_creation=False)
    request.with_header(correlation_id=1, client_id="bench")
    with socket.create_connection((host, int(port))) as connection, connection.makefile("rb") as answer:
        connection.sendall(request.encode(header=True, framed=True))
        (size,) = struct.unpack(">i", answer.read(4))
        response = MetadataResponse.decode(answer.read(size), version=9, header=True)
    leaders = [partition.leader_id for topic in response.topics for partition in topic.partitions]
    module.exit_json(changed=False, offline=leaders.count(_NO_LEADER))


if __name__ == "__main__":
    main()
