#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adds a voter to a dynamic quorum, or removes one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: quorum_voter
short_description: Add a voter to the controller quorum, or remove one
version_added: 1.0.0
description:
  - Makes a running controller a voter of a dynamic quorum (KIP-853), or removes a voter from it.
  - Refuses, with all reasons at once, where that would endanger the majority. That is when the voters that are caught
    up are no majority, before the change or after it, when the new voter is not caught up or is a broker, when the one
    to remove would add itself again, and when the quorum is static. What is not known counts against it.
  - A node that is both broker and controller can only be added when O(bootstrap_controllers) leads to it.
  - Holds the lock of the cluster meanwhile, which needs a broker that answers. Where none does, O(journal=file) keeps
    the lock on this host.
  - Afterwards looks until the quorum is as it was asked for. A voter that was added has to be caught up then.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal, kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
  check_mode: {support: full, details: ["Refuses what it would refuse otherwise, too."]}
  diff_mode: {support: full}
  idempotent: {support: full}
options:
  state:
    description:
      - Whether the controller shall be a voter.
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
      - Id of its metadata log directory, as C(meta.properties) there has it.
      - A voter is a node with this very directory. After a disk was replaced, the old one is to be removed, and the new
        one to be added.
      - Defaults to that of the voter with this id. When there is none, to that of the only observer with this id that
        fetches.
    type: str
  endpoints:
    description:
      - Where the other controllers and the brokers reach it, one for each of its C(controller.listener.names).
      - Required when O(state=present). A controller that is a voter already keeps the endpoints that it has.
    type: list
    elements: dict
    suboptions:
      name: {type: str, required: true, description: Name of the listener.}
      host: {type: str, required: true, description: Host to reach it at.}
      port: {type: int, required: true, description: "Port to reach it at, from 1 to 65535."}
  verify_timeout_ms:
    description:
      - Milliseconds in which the change must be seen.
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
  description: The controller that it is about, with its directory id and the endpoints that were given.
  returned: success
  type: dict
  sample:
    voter_id: 103
    directory_id: TTFZAVyg00dmv5kCFQdCDQ
    endpoints: [{name: CONTROLLER, host: controller3.example.com, port: 9093}]
voters:
  description:
    - All voters as the quorum returned them after the change, or as they would be in check mode. Each has the keys of
      RV(voter).
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
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import all_of, plain, run
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
    settings, controllers, their_settings, voter = all_of(
        lambda: connection.connection_settings(params),
        lambda: connection.controller_addresses(params),
        lambda: connection.controller_settings(params),
        lambda: parse_voter(params),
    )
    membership = quorum_voters.Membership(params["state"])
    with Wire(settings, their_settings) as wire:
        quorum = quorum_voters.QuorumPort(wire, controllers)
        try:
            change = quorum_voters.plan_voter_change(quorum, membership, voter)
            voters, notes = change.after, list[str]()
            if change.is_needed and not module.check_mode:
                home = _journal(Kafka(wire), change.cluster_id, params)
                change, voters, notes = quorum_voters.change_under_lock(
                    quorum, home, membership, voter, verify_timeout_ms=params["verify_timeout_ms"]
                )
        except quorum_voters.VoterRefusedError as refusal:
            return {"msg": str(refusal), "reasons": plain(refusal.reasons)}
    for each in notes:
        module.warn(each)
    return {
        "changed": change.is_needed,
        "voter": plain(change.voter),
        "voters": plain(voters),
        "diff": {"before": {"voters": plain(change.before)}, "after": {"voters": plain(voters)}},
    }


def _journal(kafka: Any, cluster_id: str, params: dict[str, Any]) -> Any:
    """Return where the journal is. Without a broker that answers, it can only be a file."""
    from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.home import JournalHome
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import NoBrokerAnswersError

    try:
        cluster = kafka.describe_cluster()
    except NoBrokerAnswersError:
        return JournalHome(kafka, Cluster(cluster_id, ()), journal_options(params))
    return JournalHome(kafka, cluster, journal_options(params), kafka.look_at_brokers(cluster))


if __name__ == "__main__":
    main()
