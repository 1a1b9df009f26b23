#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan the recovery of a controller quorum whose majority is lost."""

from __future__ import annotations

DOCUMENTATION = r"""
module: quorum_recovery_plan
short_description: Plan the recovery of a controller quorum whose majority is lost
version_added: 1.0.0
description:
  - Chooses the copy of the metadata log that goes on. The highest leader epoch of a last batch wins, then the highest
    end offset.
  - Names what this copy lacks of each other copy, and which change makes its controller the only voter.
  - Refuses, with every reason at once, while the disks of a majority are whole, while a lost voter answers, if a disk
    is of another cluster, and if a voter without a whole disk is not declared lost.
  - If a recovery was begun on one of the hosts and not verified, returns its plan, and each reason against going on
    with it. The old voters may be back since.
  - Changes nothing. It writes only the files that it is asked for.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [kafkaops.recovery.attributes]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
  idempotent: {support: none, details: [A file that exists is refused.]}
options:
  logs:
    description:
      - The results of M(kafkaops.recovery.quorum_log_info) of each host.
    type: list
    elements: dict
    required: true
  lost_voters:
    description:
      - Ids of the voters that are lost for good. By default, those of O(plan_file).
    type: list
    elements: int
    default: []
  answered_by_others:
    description:
      - Ids of lost voters at whose addresses another program answers, such as a load balancer. Without it, a lost voter
        whose address accepts a connection is refused, because an old voter that runs may lead with its old voters.
    type: list
    elements: int
    default: []
  unread:
    description:
      - Hosts whose log could not be read, with the reason.
    type: dict
    default: {}
  plan_file:
    description:
      - A reviewed plan. Another plan for the present disks is refused.
      - A file that other users may write is refused.
    type: path
  output_file:
    description:
      - Where to write the plan. The file must not exist. In check mode it is not written.
    type: path
  outcome:
    description:
      - What M(kafkaops.recovery.quorum_recovery) returned after the verification, for the report.
    type: dict
  report_file:
    description:
      - Where to write the report, a JSON file. The file must not exist.
    type: path
  report_later:
    description:
      - If there is a plan that can be carried out, only check that O(report_file) can be written. A later task writes
        it, with O(outcome).
    type: bool
    default: false
requirements: [javaproperties >= 0.8, jsonschema >= 4.26, kafka-python >= 3.0]
seealso:
  - module: kafkaops.recovery.quorum_log_info
  - module: kafkaops.recovery.quorum_recovery
"""

EXAMPLES = r"""
- name: Plan the recovery
  kafkaops.recovery.quorum_recovery_plan:
    logs: "{{ ansible_play_hosts_all | map('extract', hostvars, 'look') | list }}"
    lost_voters: [102, 103]
    output_file: /var/tmp/quorum-plan.json
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
plan:
  description:
    - The plan, as in docs/schemas/quorum-recovery-plan.schema.json. Null if it is refused.
    - That of a killed run is returned even if it must not go on, because it can be undone.
  returned: success
  type: dict
is_pending:
  description: Whether the plan is that of a run that was killed, and is continued.
  returned: success
  type: bool
  sample: false
refusals:
  description: Every reason why there is no plan, or why that of a killed run must not go on.
  returned: success
  type: list
  elements: str
  sample: [start controllers 101 and 102 first; their disks are whole]
must_stop:
  description: The controllers that have to be stopped before the plan is carried out.
  returned: success
  type: list
  elements: str
  sample: [controller 101 on controller1]
absent:
  description: Why a killed run can be neither continued nor undone by this one. Hosts that its plan names are missing.
  returned: success
  type: list
  elements: str
  sample: []
lacking:
  description: By host, the ranges of its log that the chosen copy lacks.
  returned: success
  type: dict
  sample: {controller2: [[3, 120, 122]]}
text: {type: list, elements: str, returned: success, description: All of this in words.}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import KAFKA
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.module import PLAN

ARGUMENTS = PLAN


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=KAFKA)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.module import plan_results

    return plan_results(module.params, check_mode=module.check_mode)


if __name__ == "__main__":
    main()
