#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Add a voter to a dynamic quorum, or remove one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: quorum_voter
short_description: Add a voter to the controller quorum, or remove one
version_added: 1.0.0
description:
  - Makes a running controller a voter of a dynamic quorum (KIP-853), or removes a voter from it.
  - Refuses a change that would endanger the majority, with all reasons. It refuses if the caught-up voters are not a
    majority before or after the change, if the new voter is not caught up or is a broker, if the removed controller
    would add itself again, and if the quorum is static. Unknown values count against the change. It only warns if the
    removed controller runs, and does not answer on its own listener, because only there it says whether it would add
    itself again.
  - A node that is both broker and controller can only be added if O(bootstrap_controllers) names it.
  - Holds the lock of the cluster during the change, which needs a broker that answers. The lock is a topic.
  - Afterwards it reads the quorum until the change is visible. An added voter must also be caught up.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal, kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
  check_mode: {support: full, details: ["Refuses the same changes as without check mode."]}
  diff_mode: {support: full}
  idempotent: {support: full}
options:
  state:
    description:
      - V(present) adds the controller as a voter, V(absent) removes it.
    type: str
    choices: [present, absent]
    default: present
  voter_id:
    description:
      - Node id of the controller.
    type: int
    required: true
  directory_id:
    description:
      - Id of its metadata log directory, from C(meta.properties) in that directory.
      - A voter is a node with one directory. After a disk was replaced, remove the voter with the old directory id and
        add it with the new one.
      - Defaults to the directory id of the voter with this node id. If there is none, defaults to that of the only
        observer with this node id that fetches.
    type: str
  endpoints:
    description:
      - Where the other controllers and the brokers reach it, one entry for each of its C(controller.listener.names).
      - Required with O(state=present). A controller that is already a voter keeps its endpoints.
    type: list
    elements: dict
    suboptions:
      name: {type: str, required: true, description: Name of the listener.}
      host: {type: str, required: true, description: Host to reach it at.}
      port: {type: int, required: true, description: "Port to reach it at, from 1 to 65535."}
  verify_timeout_ms:
    description:
      - Milliseconds in which the change must be visible.
    type: int
    default: 30000
seealso:
  - module: kafkaops.recovery.quorum_info
notes:
  - Needs ALTER and DESCRIBE on the cluster, and CREATE, DESCRIBE, READ, WRITE and DELETE on O(journal_topic).
"""

EXAMPLES = r"""
- name: Remove the voter whose disk was lost
  kafkaops.recovery.quorum_voter:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    state: absent
    voter_id: 103
    directory_id: mePA1r_yQ1ONASIRwvJ56g

- name: Add it with its new disk
  kafkaops.recovery.quorum_voter:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    voter_id: 103
    endpoints:
      - name: CONTROLLER
        host: controller3.example.com
        port: 9093
"""

RETURN = r"""
voter:
  description: The controller, with its directory id and the given endpoints.
  returned: success
  type: dict
  sample:
    voter_id: 103
    directory_id: TTFZAVyg00dmv5kCFQdCDQ
    endpoints: [{name: CONTROLLER, host: controller3.example.com, port: 9093}]
voters:
  description:
    - All voters after the change, or in check mode the voters that there would be. Each has the keys of RV(voter).
  returned: success
  type: list
  elements: dict
  sample:
    - voter_id: 101
      directory_id: sGUCElBLThKIizHJnCI01Q
      endpoints: [{name: CONTROLLER, host: controller1.example.com, port: 9093}]
reasons:
  description: Every reason why the change is refused.
  returned: when it is refused
  type: list
  elements: str
  sample:
    - >-
      controller 104 is not caught up: 5123 records and 41000 ms behind, last fetch 12 ms ago; caught up is within
      2000 ms
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module import connection
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, journal_options
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.voters import parse_voter

VOTER = connection.Arguments(
    argument_spec={
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "voter_id": {"type": "int", "required": True},
        "directory_id": {"type": "str"},
        "endpoints": {
            "type": "list",
            "elements": "dict",
            "options": {
                "name": {"type": "str", "required": True},
                "host": {"type": "str", "required": True},
                "port": {"type": "int", "required": True},
            },
        },
        "verify_timeout_ms": {"type": "int", "default": 30000},
    },
)
ARGUMENTS = connection.CONNECTION + connection.CONTROLLERS + JOURNAL + VOTER


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum import voters as quorum_voters

    params = module.params
    settings, controllers, voter = call_all(
        lambda: connection.connection_settings(params),
        lambda: connection.controller_listeners(params),
        lambda: parse_voter(params),
    )
    membership = quorum_voters.Membership(params["state"])
    with Wire(settings, controllers) as wire:
        quorum = quorum_voters.QuorumPort(wire)
        try:
            change = quorum_voters.plan_voter_change(quorum, membership, voter)
            voters, notes = change.after, [*filter(None, [change.doubt])]
            if change.is_needed and not module.check_mode:
                lock = _journal(Kafka(wire), params)
                change, voters, notes = quorum_voters.change_under_lock(
                    quorum, lock, membership, voter, verify_timeout_ms=params["verify_timeout_ms"]
                )
        except quorum_voters.VoterRefusedError as error:
            return {"msg": str(error), "reasons": to_json_types(error.reasons)}
    for each in notes:
        module.warn(each)
    return {
        "changed": change.is_needed,
        "voter": to_json_types(change.voter),
        "voters": to_json_types(voters),
        "diff": {"before": {"voters": to_json_types(change.before)}, "after": {"voters": to_json_types(voters)}},
    }


def _journal(kafka: Any, params: dict[str, Any]) -> Any:
    """Return the cluster's journal. Raises NoBrokerAnswersError: the lock is a topic."""
    from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.cluster_journal import ClusterJournal

    cluster = kafka.describe_cluster()
    return ClusterJournal(kafka, cluster, journal_options(params), kafka.probe_brokers(cluster))


if __name__ == "__main__":
    main()
