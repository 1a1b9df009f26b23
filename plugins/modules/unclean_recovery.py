#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan and elect in one step: for each offline partition, the best replica that can be elected."""

from __future__ import annotations

DOCUMENTATION = r"""
module: unclean_recovery
short_description: Elect the best replicas of offline partitions
version_added: 1.0.0
description:
  - Does in one step what M(kafkaops.recovery.leader_candidate_info) and M(kafkaops.recovery.designated_election) do in
    two steps. Use it when nobody reviews the plan. The rules are the same.
  - Waits up to O(recovery_duration_ms) for offline brokers whose answer may decide an election. It tries to connect to
    each of them every second, also to brokers that register in the meantime. To ask the brokers that are online takes
    at most a third of that time in addition.
  - Observes the controller quorum for O(quorum_window_ms) at the same time. If elections are planned and the quorum is
    not healthy enough for them, the module fails before it writes anything.
  - The task fails if any partition was not recovered. All other partitions are recovered first.
  - After SIGTERM or SIGINT during the elections, the module completes the current request, restores replica orders, and
    returns its results. Before the elections it ends at once.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.selection, kafkaops.recovery.selection.names,
  kafkaops.recovery.selection.designations, kafkaops.recovery.gathering, kafkaops.recovery.gathering.max_rows,
  kafkaops.recovery.policy, kafkaops.recovery.policy.host_boot_times,
  kafkaops.recovery.waiting, kafkaops.recovery.elections, kafkaops.recovery.salvage,
  kafkaops.recovery.journal, kafkaops.recovery.quorum_preflight, kafkaops.recovery.quorum_preflight.seen,
  kafkaops.recovery.controllers, kafkaops.recovery.report, kafkaops.recovery.progress, kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.action_group]
options:
  fencing_wait_ms:
    description:
      - As O(kafkaops.recovery.offline_partition_info#module:fencing_wait_ms). Check mode does not wait.
      - The default is twice the default of C(broker.session.timeout.ms), and some time for the controller's election.
    type: int
    default: 20000
attributes:
  action_group: {membership: [
    kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal,
    kafkaops.recovery.planning, kafkaops.recovery.elections]}
  check_mode:
    support: full
    details:
      - Asks the replicas, plans, reads every partition again, and returns the elections that it would request. It does
        not wait for brokers and sends no write request.
seealso:
  - module: kafkaops.recovery.leader_candidate_info
    description: Writes a plan for review.
  - module: kafkaops.recovery.designated_election
    description: Carries out a reviewed plan.
"""

EXAMPLES = r"""
- name: Show what a recovery of all offline partitions would do
  kafkaops.recovery.unclean_recovery:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
  check_mode: true
  diff: true

- name: Recover two partitions, and lose no more than 100 records of each
  kafkaops.recovery.unclean_recovery:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    partitions:
      - topic: orders
        partitions: [0, 3]
    recovery_strategy: aggressive
    max_lost_records: 100
    salvage_dir: /srv/kafka-salvage
    report_file: report.json
"""

RETURN = r"""
led_by_silent:
  description: As RV(kafkaops.recovery.offline_partition_info#module:led_by_silent).
  returned: always, once the elections began
  type: int
  sample: 0
led_by_replaced:
  description: As RV(kafkaops.recovery.offline_partition_info#module:led_by_replaced).
  returned: always, once the elections began
  type: int
  sample: 0
awaited:
  description: The brokers that the module waited for. The broker to start first is the first entry. The fields are
    those of RV(kafkaops.recovery.leader_candidate_info#module:awaited).
  returned: always, once the elections began
  type: list
  elements: dict
  sample:
    - {broker_id: 1, state: online, partitions: 12, holds_back: 8, limit_ms: 30000, waited_ms: 8120,
       has_returned: true, cause: ''}
partitions:
  description:
    - How each partition ended, in order of topic, then partition. The fields are those of
      RV(kafkaops.recovery.designated_election#module:partitions).
    - If there are more than O(max_rows), those that were not recovered are returned first.
  returned: always, once the elections began
  type: list
  elements: dict
  sample: []
summary:
  description:
    - How many partitions have each status.
    - The module also returns RV(kafkaops.recovery.leader_candidate_info#module:evidence) and
      RV(kafkaops.recovery.leader_candidate_info#module:engine),
      RV(kafkaops.recovery.designated_election#module:cluster_id),
      RV(kafkaops.recovery.designated_election#module:brokers),
      RV(kafkaops.recovery.designated_election#module:truncated),
      RV(kafkaops.recovery.designated_election#module:groups), RV(kafkaops.recovery.designated_election#module:loss),
      RV(kafkaops.recovery.designated_election#module:salvage),
      RV(kafkaops.recovery.designated_election#module:aftermath),
      RV(kafkaops.recovery.designated_election#module:leftovers) and
      RV(kafkaops.recovery.designated_election#module:report_fault), as these modules return them.
  returned: always, once the elections began
  type: dict
  sample: {recovered: 1, would_recover: 0, already_online: 0, refused: 0, failed: 0, unrecoverable: 0, unknown: 0}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION, Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import KAFKA_AND_ARROW
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import (
    JOURNAL,
    PROGRESS,
    SELECTION,
    notes_on_file,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import (
    QUORUM_PREFLIGHT,
    QUORUM_SEEN,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import GATHERING
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.options import (
    CHOSEN,
    ELECTIONS,
    MAX_ROWS,
    REPORT,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.policies import POLICY
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.waiting import WAITING
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.options import SALVAGE

ARGUMENTS = (
    CONNECTION
    + SELECTION
    + CHOSEN
    + GATHERING
    + POLICY
    + WAITING
    + ELECTIONS
    + SALVAGE
    + JOURNAL
    + QUORUM_PREFLIGHT
    + QUORUM_SEEN
    + MAX_ROWS
    + REPORT
    + PROGRESS
    + Arguments(argument_spec={"fencing_wait_ms": {"type": "int", "default": 20_000}})
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=KAFKA_AND_ARROW)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.module_result import results_of
    from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.recovery import recover
    from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.tails_module import RunTails

    params, check_mode = module.params, module.check_mode
    tails = RunTails(params, check_mode)
    done = recover(params, check_mode=check_mode, tails=tails)
    # The broker that planning found with old metadata is named by both.
    for warning in dict.fromkeys(
        [*notes_on_file(module.params), *done.planned.notes, *done.elected.warnings, *tails.warnings()]
    ):
        module.warn(warning)
    return {
        "awaited": to_json_types(done.planned.awaited),
        **done.planned.doubtful,
        "evidence": done.planned.evidence,
        "engine": to_json_types(done.planned.engine),
        **results_of(done.elected, params["max_rows"], tails.results(done.elected.refused), check_mode=check_mode),
    }


if __name__ == "__main__":
    main()
