#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the state of the controller quorum, and say which actions are safe."""

from __future__ import annotations

DOCUMENTATION = r"""
module: quorum_info
short_description: Return the state of the controller quorum, findings and verdicts
version_added: 1.0.0
description:
  - Describes the KRaft quorum by the answers of its leader and of each controller that can be reached.
  - Reports what endangers the quorum, for example the disruptive servers of KIP-996, with numbers, meaning and remedy.
  - Says whether elections may be requested, which controller may be restarted, and which voters may be added and
    removed. Unknown values count against an action, and so do a second leader and an election within the window.
  - A quorum without a leader is a result, not a failure. The module fails if neither brokers nor controllers answer.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.report.findings,
  kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.info_module, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers]}
options:
  window_ms:
    description:
      - Milliseconds in which the quorum is read four times a second. With V(0), it is read once.
      - The window begins after the first read, which waits for silent controllers.
      - Only a window shows leaders that come and go, voters that come and go, and logs that shrink.
    type: int
    default: 0
seealso:
  - module: kafkaops.recovery.quorum_voter
notes:
  - Needs DESCRIBE on the cluster. With DESCRIBE_CONFIGS on the cluster, it also returns timeouts and the address of
    each controller. With CLUSTER_ACTION at the controllers, it also returns each controller's own epoch. With ALTER at
    the controllers, which Kafka requires for that, it also finds the controllers that were not named.
"""

EXAMPLES = r"""
- name: Read the quorum through the brokers
  kafkaops.recovery.quorum_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
  register: quorum

- name: Restart a controller only if the others have a majority without it
  ansible.builtin.assert:
    that: (quorum.verdicts.restart | selectattr('node_id', 'equalto', 103) | first).allowed

- name: Watch the quorum for ten seconds, controller by controller
  kafkaops.recovery.quorum_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    bootstrap_controllers: controller1.example.com:9093,controller2.example.com:9093
    window_ms: 10000
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
leader_id: {type: int, returned: success, sample: 101, description: "The leader of the quorum, null if none answered."}
leader_epoch: {type: int, returned: success, sample: 7, description: Its epoch.}
high_watermark:
  description: Offset up to which the metadata log is committed, null if unknown.
  returned: success
  type: int
  sample: 8129
kraft_version:
  description: The finalized C(kraft.version). From 1 on the voters are dynamic (KIP-853).
  returned: success
  type: int
  sample: 1
metadata_version:
  description: Feature level of the finalized C(metadata.version).
  returned: success
  type: int
  sample: 29
fetch_timeout_ms:
  description:
    - The leader's C(controller.quorum.fetch.timeout.ms). If it is unknown, the smallest value of the controllers, or
      else of the brokers.
  returned: success
  type: int
  sample: 2000
election_timeout_ms:
  description: Largest C(controller.quorum.election.timeout.ms) of the controllers, or else of the brokers.
  returned: success
  type: int
  sample: 1000
window_ms: {type: int, returned: success, sample: 10000, description: How long it was observed.}
voters:
  description: The voters, in order of their ids, as the leader reports them. Empty if there is no leader.
  returned: success
  type: list
  elements: dict
  contains: &member
    replica_id: {type: int, description: Its node id.}
    directory_id: {type: str, description: "Id of its metadata log directory. Null if unknown, in a static quorum."}
    endpoints:
      description: Its listeners as controller, each with C(name), C(host) and C(port).
      type: list
      elements: dict
    log_end_offset: {type: int, description: "Its log end offset, null if the leader does not know it."}
    lag_records: {type: int, description: "How many records it lacks in comparison with the leader, null if unknown."}
    lag_ms: {type: int, description: "Milliseconds since it last had all records of the leader, null if unknown."}
    since_fetch_ms: {type: int, description: "Milliseconds since its last Fetch. Null for the leader, and if unknown."}
    is_caught_up:
      description:
        - Whether C(lag_ms) is within the fetch timeout. False if C(lag_ms) is unknown, or if its log is empty and the
          leader's log is not.
      type: bool
observers:
  description: The observers, with the same fields. Brokers are observers.
  returned: success
  type: list
  elements: dict
  contains: *member
controllers:
  description: The controllers that were asked on their own listener.
  returned: success
  type: list
  elements: dict
  contains:
    address: {type: str, description: The address that was asked.}
    node_id: {type: int, description: "Its node id, null if unknown."}
    supports_pre_vote: {type: bool, description: "Whether it has Pre-Vote (KIP-996, Kafka 4.0)."}
    fetch_timeout_ms: {type: int, description: Its C(controller.quorum.fetch.timeout.ms).}
    election_timeout_ms: {type: int, description: Its C(controller.quorum.election.timeout.ms).}
    auto_join: {type: bool, description: "Its C(controller.quorum.auto.join.enable), null before Kafka 4.2."}
    election_backoff_ms: {type: int, description: Its C(controller.quorum.election.backoff.max.ms).}
    retry_backoff_ms: {type: int, description: Its C(controller.quorum.retry.backoff.ms).}
    cause: {type: str, description: "Why it did not answer, for example V(hung) or V(unreachable). Null if it did."}
    error: {type: str, description: "The same, in words."}
    unlisted:
      type: str
      description: Why it does not list the other controllers, although it answers. Empty if it does, or was not asked.
findings:
  description: The findings, most severe first. Empty for a healthy quorum.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: voter_not_fetching
      severity: warning
      node_ids: [103]
      evidence:
        since_fetch_ms: 41810
        lag_ms: 41810
        lag_records: 84
        caught_up_within_ms: 2000
        answers_us: false
        follows: null
        epoch: null
      meaning: The voter is down, frozen or cut off, and does not count for a majority. If it was cut off, it requests
        an election when it returns. Without Pre-Vote, the leader then loses its leadership (KIP-996).
      remedy: 'It does not answer us either: start it, or find out why it hangs.'
  contains:
    kind:
      description: The kind of finding.
      type: str
      choices: [no_leader, two_leaders, majority_not_caught_up, voter_not_fetching, voter_lags,
        new_voter_not_caught_up, disk_replaced, epoch_churn, epoch_ahead, removed_voter_active, voter_joined,
        controller_silent, removed_controller_registered, timeouts_too_low, timeouts_differ, single_voter, even_voters,
        pre_vote_missing]
    severity:
      description:
        - V(critical) if the quorum does not work or its answers are not reliable, V(warning) if something is wrong, and
          V(info) for facts to consider before a change.
      type: str
      choices: [critical, warning, info]
    node_ids: {type: list, elements: int, description: The controllers that it is about.}
    evidence: {type: dict, description: "The numbers that show it, by name."}
    meaning: {type: str, description: What it means.}
    remedy: {type: str, description: What to do.}
verdicts:
  description: Which actions are safe now.
  returned: success
  type: dict
  contains:
    elections: {type: dict, description: "Whether elections may be requested, as C(allowed), with C(reasons) why not."}
    restart:
      description: Which voter may be stopped. A majority must be caught up without it.
      type: list
      elements: dict
      contains: &verdict
        node_id: {type: int, description: The controller.}
        allowed: {type: bool, description: Whether it may be done now.}
        reasons: {type: list, elements: str, description: Every reason why not.}
    removal:
      description: Which voter may be removed.
      type: list
      elements: dict
      contains: *verdict
    addition:
      description: Which controller that is not a voter may become a voter.
      type: list
      elements: dict
      contains: *verdict
"""

from functools import partial
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._module import connection
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.assessment import (
    QUORUM_REPORT,
    assess,
    encode_quorum_report,
)

ARGUMENTS = (
    connection.CONNECTION
    + connection.CONTROLLERS
    + connection.Arguments(argument_spec={"window_ms": {"type": "int", "default": 0}, "report_file": {"type": "path"}})
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.observe import observe_quorum

    params = module.params
    settings, controllers, report = call_all(
        lambda: connection.connection_settings(params),
        lambda: connection.controller_listeners(params),
        lambda: ReportFile(params["report_file"]),
    )
    with Wire(settings, controllers) as wire:
        assessment = assess(observe_quorum(wire, window_ms=params["window_ms"], finds_controllers=True))
    report_error = report.write_or_explain(partial(encode_quorum_report, assessment), QUORUM_REPORT)
    return {"changed": False, **to_json_types(assessment), **({"msg": report_error} if report_error else {})}


if __name__ == "__main__":
    main()
