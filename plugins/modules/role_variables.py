#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: role_variables
short_description: Check the variables of a role of this collection, and convert them
version_added: 1.0.0
description:
  - Every role of this collection runs this first. Variables of C(ansible-playbook -e name=value) are strings. This
    returns each variable in the type that the role's argument specs give, however it was typed.
  - A list may be given as V(1,2), V([1, 2]) or as a list. Partitions may be given as V(orders:0,3,payments:1).
  - A relative path becomes absolute. On this host it starts at the directory in which the command was started, on
    another host at the home directory of the login.
  - Fails if a variable of the role is wrong or empty, or if a variable has the role's prefix and is none of its
    variables. The message has all problems, and the nearest right name. Only an answer to a survey of AWX may be empty.
  - A variable C(kafka_) is refused only if C(-e) sets it to a name that is one of the shared variables with a slip,
    because inventories have other variables of that prefix.
  - Secrets are checked and not returned.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module]
options:
  role: {description: Name of the role., type: str, required: true}
  refusals:
    description: Variables that the role refuses although each one alone is right. The task fails with these texts.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Check the variables of this role
  kafkaops.recovery.role_variables:
    role: readiness
  register: __readiness_checked
"""

RETURN = r"""
options:
  description: The role's own variables that are given or have a default, without the role's prefix.
  returned: success
  type: dict
  sample: {fail_on: failed, certificate_days: 30, local_spark: true}
kafka:
  description: The variables of the connection to brokers that are given, without prefix and without secrets.
  returned: success
  type: dict
  sample: {bootstrap_servers: ["kafka1:9092"]}
controllers:
  description: The same for the connection to controllers.
  returned: success
  type: dict
  sample: {bootstrap_controllers: ["controller1:9093"]}
journal:
  description: The same for the journal.
  returned: success
  type: dict
  sample: {journal_topic: _kafkaops_run}
variables:
  description:
    - The variables by their full names, and C(ROLE_hosts), for commands that repeat the run. Secrets are left out, and
      values that are the default, unless C(-e) set them.
    - Of a dictionary, only whether it is given.
  returned: success
  type: dict
  sample: {kafka_bootstrap_servers: ["kafka1:9092"], readiness_fail_on: failed, readiness_hosts: bastion}
decided:
  description:
    - What the variables mean together, such as C(has_plan) and C(only_looks). C(refusals) are the reasons why the role
      refuses them although each one alone is right.
  returned: for the role unclean_recovery
  type: dict
  sample: {refusals: [], has_plan: false, only_looks: true}
report_file:
  description:
    - The path of the report, empty if the role writes none.
    - Without a report file, the report is written beside the HTML page. A role that writes a report of every run writes
      it to a directory of reports, with the time in UTC in its name.
  returned: success
  type: str
  sample: /root/.local/state/kafkaops-recovery/reports/recovery-20260131T024100123456.json
report_html:
  description: The path of the HTML page, empty if none is wanted.
  returned: success
  type: str
  sample: /var/www/readiness.html
"""
