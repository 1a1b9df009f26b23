#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carry out the plan of a quorum's recovery on one host, verify it, or undo it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: quorum_recovery
short_description: Make the survivor of a lost controller quorum its only voter
version_added: 1.0.0
description:
  - Carries out one host's part of a plan of M(kafkaops.recovery.quorum_recovery_plan). The node must be stopped.
  - First copies the metadata directory, and compares the copy. Then, if the voters are dynamic, appends one record
    with the new voters to the metadata log. If they are static, replaces C(controller.quorum.voters) in the properties
    file. In both cases, removes the vote from C(quorum-state), with which Kafka 3.9 may not start.
  - Refuses if the log is not the one that the plan was made for.
  - Each step is recorded in a journal beside the metadata directory before it is taken. After a killed run, the next
    run continues.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers]}
  check_mode: {support: full, details: [Writes nothing, and takes no lock.]}
  diff_mode: {support: full}
  idempotent: {support: full}
options:
  plan:
    description:
      - The plan.
    type: dict
    required: true
  host:
    description:
      - The name of this host in the plan.
    type: str
    required: true
  state:
    description:
      - V(applied) carries the plan out on this host.
      - V(verified) waits until the recovered quorum has a leader, compares the survivor's log with the plan, and ends
        the journal. It runs on the host of the survivor. Controllers may have been added since.
      - V(restored) undoes a recovery that was begun and not verified. It puts the backup and the old voters back on
        this host. Refused if the controller has written anything since the change. Restore the host of the survivor
        last, because its journal has the plan.
    type: str
    choices: [applied, restored, verified]
    default: applied
  backup_dir:
    description:
      - The directory for the backups. It is created.
      - Defaults to the directory in which the log directory is.
    type: path
  verify_timeout_ms:
    description:
      - Milliseconds in which the survivor must lead.
    type: int
    default: 120000
requirements:
  - aiokafka >= 0.12
  - crc32c >= 2.7
  - pyarrow >= 20
notes:
  - Run it as the user that Kafka runs as, or as root; every file keeps its owner. It needs write access to the log
    directory and to the properties file.
  - If neither O(bootstrap_servers) nor O(command_config) is given, the survivor's own listener is asked with the
    default settings. V(verified) needs DESCRIBE on the cluster.
seealso:
  - module: kafkaops.recovery.quorum_recovery_plan
"""

EXAMPLES = r"""
- name: Make the survivor the only voter
  kafkaops.recovery.quorum_recovery:
    plan: "{{ planned.plan }}"
    host: "{{ inventory_hostname }}"
"""

RETURN = r"""
backup: {type: str, returned: success, sample: /var/lib/kafka.quorum-recovery-1f2e, description: Path of the backup.}
leader_id: {type: int, returned: when verified, sample: 101, description: The controller that leads.}
leader_epoch: {type: int, returned: when verified, sample: 12, description: Its epoch.}
voters:
  description: The survivor, and the controllers that were added since.
  returned: when verified
  type: list
  elements: int
  sample: [101]
high_watermark: {type: int, returned: when verified, sample: 4711, description: The end of what it has committed.}
brokers:
  description: The nodes that fetch from it and are no voters.
  returned: when verified
  type: list
  elements: int
  sample: [1, 2, 3]
missing_brokers:
  description: How many brokers the log knows besides. The quorum is recovered, but they do not follow it.
  returned: when verified
  type: int
  sample: 0
text: {type: list, elements: str, returned: when verified, description: "All of this in words, and what to do next."}
since:
  description: What was written to the log since the recovery, in words.
  returned: when verified
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module import connection
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import KAFKA, RECORDS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.module import RECOVERY

ARGUMENTS = connection.connection_arguments("plan") + connection.CONTROLLERS + RECOVERY


def main() -> None:
    needs = (*KAFKA, *RECORDS)
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=needs)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery import module as recovery

    params = module.params
    plan = recovery.parse_plan(params["plan"])
    if params["state"] == "restored":
        return recovery.restore_results(plan, params["host"], check_mode=module.check_mode)
    if params["state"] == "applied":
        return recovery.apply_results(plan, params, check_mode=module.check_mode)
    params = recovery.with_survivor(params, plan)
    settings = connection.connection_settings(params)
    with Wire(settings, connection.controller_listeners(params)) as wire:
        return recovery.verify_results(wire.controller_side, plan, params["verify_timeout_ms"])


if __name__ == "__main__":
    main()
