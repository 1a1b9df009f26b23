#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check whether a cluster and this host are ready for a recovery."""

from __future__ import annotations

DOCUMENTATION = r"""
module: readiness_info
short_description: Check before an incident whether a recovery would work
version_added: 1.0.0
description:
  - Checks everything that a recovery needs, before an incident. Run it on a schedule.
  - Checks that every broker answers at its advertised address, and every controller at its own listener. Checks
    certificates, authentication, the ACLs that each playbook needs, and the requests and features of every broker.
    Checks the journal's topic and changes that a killed run left behind. On this host, checks Java, Python libraries,
    Spark's class archive and disk space. Checks clocks, and the settings of topics that decide how much an outage
    costs.
  - Predicts for each broker which partitions would have no leader if it died now, and which of these could not be
    recovered.
  - Changes nothing. ACLs are checked by the operations that brokers report as allowed (KIP-430), and by a request to
    create the journal's topic with C(validate_only).
  - A check that could not be completed is red. The module does not fail because of its findings.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal,
  kafkaops.recovery.report.findings, kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.info_module, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
options:
  memory_topic:
    description:
      - Name of the topic in which O(kafkaops.recovery.preferred_leader_blacklist#module:memory_topic) remembers orders.
    type: str
    default: _kafkaops_leadership
  journal_test:
    description:
      - What M(kafkaops.recovery.journal_test) returned as RV(kafkaops.recovery.journal_test#module:checks). It counts
        as checks of this module. If not given, a check says that no record was written to the journal's topic.
    type: list
    elements: dict
  evidence_dir:
    description:
      - Directory below which evidence will be written. Its free space is checked, and nothing is written.
    type: path
  salvage_dir:
    description:
      - Directory below which a salvage will be written. Its free space is checked, and nothing is written.
      - It must have room for the largest replica of the cluster.
    type: path
  certificate_days:
    description:
      - Warn about certificates that are valid for fewer days than this. Fewer than 7 are a failure.
    type: int
    default: 30
  local_spark:
    description:
      - Whether Spark on this host ranks replicas. Otherwise PySpark, Java and the class archive are not checked.
      - They are never more than a warning, because a recovery works without Spark.
    type: bool
    default: true
seealso:
  - module: kafkaops.recovery.quorum_info
notes:
  - Needs DESCRIBE and DESCRIBE_CONFIGS on the cluster and on topics. A missing permission is a finding.
  - Recognizes leaders that lack records of a broker that is down by CLUSTER_ACTION on the cluster, READ on topics and
    DESCRIBE on groups, as far as they are granted.
  - No RPC returns a broker's clock. So the clock of the active controller is compared.
  - WRITE on a transactional id and ACLs at controllers cannot be checked without a write.
"""

EXAMPLES = r"""
- name: Check whether a recovery would work
  kafkaops.recovery.readiness_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    bootstrap_controllers: controller1.example.com:9093
    salvage_dir: /var/tmp
  register: readiness

- name: Fail if it would not
  ansible.builtin.assert:
    that: readiness.is_ready
"""

RETURN = r"""
cluster_id:
  description: The cluster's id, null if no broker answers.
  returned: success
  type: str
  sample: 4L6g3nShT-eMCtK--X86sw
is_ready:
  description: Whether no check is V(failed) or V(unknown). Warnings do not count.
  returned: success
  type: bool
  sample: false
checks:
  description: The checks, the worst first.
  returned: success
  type: list
  elements: dict
  sample:
    - name: permissions
      status: failed
      subject: playbook recover_offline_partitions
      found: ALTER on the cluster is missing (to put the designated leader first and to elect it)
      remedy: >-
        Grant it: kafka-acls.sh --bootstrap-server kafka1:9092 --command-config admin.properties --add
        --allow-principal User:recovery --operation Alter --cluster
  contains:
    name:
      description: What was checked.
      type: str
      choices: [brokers, controllers, quorum, partitions, leftovers, permissions, journal, mechanism, certificates,
        clocks, versions, libraries, java, class_archive, disk_space, replication_factor, min_insync_replicas,
        unclean_election, broker_loss, other_parties]
    status:
      description:
        - V(failed) if a recovery would fail or do more harm than necessary, and V(unknown) if the check could not be
          completed. Both are red.
        - V(warning) if a recovery would work, but cost more time or records than necessary.
      type: str
      choices: [failed, unknown, warning, ok]
    subject:
      description: What was checked, for example one broker. Empty for the whole cluster or this host.
      type: str
    found: {type: str, description: The result in words.}
    remedy: {type: str, description: What to do. Empty if nothing has to be done.}
broker_losses:
  description: What would happen if one broker died now, for each broker that answers.
  returned: success
  type: list
  elements: dict
  sample:
    - broker_id: 3
      offline_partitions: 2
      offline: orders 0-1
      unrecoverable_partitions: 0
      unrecoverable: ''
      below_min_isr_partitions: 40
  contains:
    broker_id: {type: int, description: The broker.}
    offline_partitions: {type: int, description: How many partitions would have no leader.}
    offline: {type: str, description: "Their topics, with partition numbers."}
    unrecoverable_partitions: {type: int, description: How many of these have no replica on another live broker.}
    unrecoverable: {type: str, description: "Their topics, with partition numbers."}
    below_min_isr_partitions:
      description:
        - How many partitions would have a leader but refuse records with acks=all. Null if settings could not be read.
      type: int
rack_losses:
  description: What would happen if all brokers of one rack died now, for each rack of several brokers that answer.
  returned: success
  type: list
  elements: dict
  contains:
    rack: {type: str, description: The rack.}
    brokers: {type: list, elements: int, description: Its brokers that answer.}
    offline_partitions: {type: int, description: How many partitions would have no leader.}
    offline: {type: str, description: "Their topics, with partition numbers."}
    unrecoverable_partitions: {type: int, description: How many of these have no replica on another live broker.}
    unrecoverable: {type: str, description: "Their topics, with partition numbers."}
    below_min_isr_partitions:
      description:
        - How many partitions would have a leader but refuse records with acks=all. Null if settings could not be read.
      type: int
"""

from functools import partial
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    CONTROLLERS,
    Arguments,
    connection_settings,
    controller_listeners,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, journal_options
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import (
    READINESS_REPORT,
    encode_readiness_report,
    read_checks,
)

ARGUMENTS = (
    CONNECTION
    + CONTROLLERS
    + JOURNAL
    + Arguments(
        argument_spec={
            "memory_topic": {"type": "str", "default": "_kafkaops_leadership"},
            "journal_test": {"type": "list", "elements": "dict"},
            "evidence_dir": {"type": "path"},
            "salvage_dir": {"type": "path"},
            "certificate_days": {"type": "int", "default": 30},
            "local_spark": {"type": "bool", "default": True},
            "report_file": {"type": "path"},
        }
    )
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.inspection import (
        ReadinessOptions,
        check_readiness,
    )

    params = module.params
    settings, tried, controllers, report = call_all(
        lambda: connection_settings(params),
        lambda: read_checks(params["journal_test"]),
        lambda: controller_listeners(params),
        lambda: ReportFile(params["report_file"]),
    )
    options = ReadinessOptions(
        journal=journal_options(params),
        memory_topic=params["memory_topic"],
        journal_test=tried,
        evidence_dir=params["evidence_dir"],
        salvage_dir=params["salvage_dir"],
        least_certificate_days=params["certificate_days"],
        uses_local_spark=params["local_spark"],
    )
    with Wire(settings, controllers) as wire:
        found = check_readiness(Kafka(wire), options)
    report_error = report.write_or_explain(partial(encode_readiness_report, found), READINESS_REPORT)
    return {"changed": False, **to_json_types(found), **({"msg": report_error} if report_error else {})}


if __name__ == "__main__":
    main()
