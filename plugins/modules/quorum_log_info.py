#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read one copy of the controllers' metadata log on a disk."""

from __future__ import annotations

DOCUMENTATION = r"""
module: quorum_log_info
short_description: Return what one host has of the controllers' metadata log
version_added: 1.0.0
description:
  - Reads the metadata log of a controller, or the copy that each broker has, from its disk. It needs no quorum and no
    running node, and it also reads copies and mounted disks.
  - Verifies the checksum of every batch, and decodes every record from the newest snapshot on.
  - Only reads. A node may run meanwhile. A lost or damaged disk is a result, not a failure.
  - Tries to connect to the other voters that the log or the properties name, and sends them nothing.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module]
options:
  properties:
    description:
      - Path of the node's C(server.properties). It names the directory of the metadata log and static voters.
      - Either this or O(log_dir) is required.
    type: path
  log_dir:
    description:
      - The directory that has C(meta.properties) and C(__cluster_metadata-0), if it is another one than
        O(properties) names, for example a mounted disk.
    type: path
  host:
    description:
      - Name of the host in the results.
    type: str
    default: localhost
  lacking:
    description:
      - Ranges of the log to decode and return in RV(beyond). Each is a list of the leader epoch, the first offset, and
        the offset after the last one.
    type: list
    elements: list
requirements:
  - aiokafka >= 0.12
  - crc32c >= 2.7
  - javaproperties >= 0.8
  - jsonschema >= 4.26
  - kafka-python >= 3.0
  - pyarrow >= 20
notes:
  - Needs read access to the properties file and to the directory. Run it as the user that Kafka runs as.
seealso:
  - module: kafkaops.recovery.quorum_recovery_plan
"""

EXAMPLES = r"""
- name: Read what a stopped controller has of the metadata log
  kafkaops.recovery.quorum_log_info:
    properties: /etc/kafka/controller.properties
    host: "{{ inventory_hostname }}"
  register: look
"""

RETURN = r"""
log:
  description:
    - The copy of the metadata log, with keys in camel case. C(state) is C(whole), C(missing), C(damaged) or
      C(unreadable), and C(reason) says why it is not whole. Unknown values are null.
    - C(nodeId), C(directoryId) and C(clusterId) say whose it is. C(kraftVersion) is 0 if the voters are static, and 1
      if they are in the log. C(voters) are those in the log, C(vote) is the file C(quorum-state).
    - C(lineageRanges) has a list of leader epoch, first offset and next offset for each epoch. C(tornBytes) are the
      bytes after the last whole batch. C(stoppedCleanly) is null while the node runs.
  returned: success
  type: dict
answering:
  description: Where another voter accepts a connection, by its id.
  returned: success
  type: dict
  sample: {"102": "controller2.example.com:9093"}
beyond:
  description: What the records in O(lacking) say, in words, without the values of configs and without credentials.
  returned: success
  type: list
  elements: str
  sample: [topic orders was created with id 0kEHEMDdQ5eSgSKUP1y6Sw]
beyond_records: {type: int, returned: success, sample: 2, description: The number of records in O(lacking).}
overtaken:
  description:
    - Replicas that the records in O(lacking) took out of the ISR. C(stale) are their brokers, C(inSync) those that hold
      all committed records, the last leader first, and C(partitions) the names of the partitions.
  returned: success
  type: list
  elements: dict
  sample: [{"stale": [1], "inSync": [2, 3], "partitions": ["orders-0"]}]
pending_plan:
  description: The plan of a recovery that was begun here and not verified. Null if there is none.
  returned: success
  type: dict
pending_step:
  description: How far it came. C(changing) means that its changes may be incomplete.
  returned: success
  type: str
  sample: changed
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import KAFKA, RECORDS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.look import LOG_INFO

ARGUMENTS = LOG_INFO


def main() -> None:
    needs = (*KAFKA, *RECORDS)
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=needs)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.look import look

    return look(module.params)


if __name__ == "__main__":
    main()
