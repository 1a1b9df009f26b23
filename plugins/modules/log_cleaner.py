#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restart cleaner threads, or change cleaner settings permanently."""

from __future__ import annotations

DOCUMENTATION = r"""
module: log_cleaner
short_description: Restart log cleaner threads if that helps, or change cleaner settings
version_added: 1.0.0
description:
  - With O(state=restarted), restarts the cleaner threads of brokers by a change of a dynamic config (KIP-226). It makes
    the smallest change that takes effect, one more millisecond of C(log.cleaner.backoff.ms), or else one more thread.
    Then it restores the value and its source. A config that was not set before is deleted.
  - It restarts threads only if the diagnosis says that this helps, for example with dead threads. A restart does not
    clear the marks of uncleanable partitions. Use M(kafkaops.recovery.log_cleaner_repair) for these partitions.
  - The change is in the journal before it is made, so that the next run after a crash restores the config.
  - With O(state=configured), changes settings of the cleaner permanently. That restarts the threads, too.
  - Brokers are handled one after the other.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.log_cleaner, kafkaops.recovery.log_cleaner.sizes,
  kafkaops.recovery.log_cleaner.writes, kafkaops.recovery.journal, kafkaops.recovery.quorum_preflight,
  kafkaops.recovery.controllers, kafkaops.recovery.progress, kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [
    kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal, kafkaops.recovery.log_cleaner]}
  check_mode: {support: full}
  diff_mode: {support: full}
  idempotent:
    support: partial
    details:
      - Nothing is changed if every cleaner is healthy, so it can run on a schedule. With O(force=true), the threads are
        restarted each time.
options:
  state:
    description:
      - V(restarted) restarts threads if that helps. V(configured) applies O(settings) and O(unset).
    type: str
    choices: [restarted, configured]
    default: restarted
  force:
    description:
      - Restart the threads regardless of the diagnosis. A hanging thread may prevent its broker from applying configs
        until the thread ends.
    type: bool
    default: false
  settings:
    description:
      - The cleaner's settings to set at each broker. Settings that are not given stay unchanged.
    type: dict
    suboptions:
      threads:
        description:
          - C(log.cleaner.threads). Kafka accepts half to double of the current number in one change.
        type: int
      dedupe_buffer_size:
        description:
          - C(log.cleaner.dedupe.buffer.size), in bytes, of all threads together.
        type: int
      io_buffer_size: {type: int, description: "C(log.cleaner.io.buffer.size), in bytes, of all threads together."}
      io_buffer_load_factor: {type: float, description: "C(log.cleaner.io.buffer.load.factor), from V(0) to V(1)."}
      io_max_bytes_per_second:
        description:
          - C(log.cleaner.io.max.bytes.per.second), of reads and writes together.
        type: float
      backoff_ms: {type: int, description: C(log.cleaner.backoff.ms).}
  unset:
    description:
      - Settings to delete at each broker, so that the cluster's default, C(server.properties) or Kafka's default
        applies.
    type: list
    elements: str
    choices: [threads, dedupe_buffer_size, io_buffer_size, io_buffer_load_factor, io_max_bytes_per_second, backoff_ms]
    default: []
  verify_timeout_ms:
    description:
      - Milliseconds in which a change must be visible, and in which the metrics must show that the threads are alive
        and have run.
    type: int
    default: 60000
seealso:
  - module: kafkaops.recovery.log_cleaner_info
  - module: kafkaops.recovery.log_cleaner_repair
notes:
  - Needs ALTER_CONFIGS and DESCRIBE_CONFIGS on the cluster, and DESCRIBE on the cluster for the quorum.
"""

EXAMPLES = r"""
- name: Restart the cleaner threads of brokers with dead threads
  kafkaops.recovery.log_cleaner:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    metrics_source: jolokia
    metrics_url: http://{host}:8778/jolokia

- name: Set two cleaner threads for broker 3 permanently
  kafkaops.recovery.log_cleaner:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    state: configured
    brokers: [3]
    settings:
      threads: 2
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
summary:
  description: How many brokers ended in each status.
  returned: success
  type: dict
  sample: {restarted: 1, not_needed: 2, failed: 0}
outcomes:
  description: The brokers, in order of their ids.
  returned: success
  type: list
  elements: dict
  contains:
    broker_id: {type: int, description: The broker.}
    status:
      description: The outcome. V(not_helped) means that a restart does not repair the fault.
      type: str
      choices: [restarted, would_restart, not_needed, not_helped, unknown, changed, would_change, as_wanted, stopped,
        failed]
    reason: {type: str, description: "Why, in words."}
    edits:
      description: The changes, each with C(name), C(before) and C(after). Null is "not set".
      type: list
      elements: dict
    case_before: {type: str, description: The diagnosis before.}
    case_after: {type: str, description: "The diagnosis after a restart, by metrics. Null without metrics."}
    verified_by: {type: str, description: "How it was verified, V(metrics) or V(config). Empty if nothing was done."}
leftovers:
  description: Changes that an earlier run did not undo, each with C(change), C(undoing) and C(reason).
  returned: success
  type: list
  elements: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner import options as shared
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.metrics_source import METRICS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION, Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, PROGRESS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import QUORUM_PREFLIGHT
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run, stop_on_signals

SETTINGS = {
    "threads": {"type": "int"},
    "dedupe_buffer_size": {"type": "int"},
    "io_buffer_size": {"type": "int"},
    "io_buffer_load_factor": {"type": "float"},
    "io_max_bytes_per_second": {"type": "float"},
    "backoff_ms": {"type": "int"},
}
ARGUMENTS = (
    CONNECTION
    + shared.BROKERS
    + METRICS
    + shared.THRESHOLDS
    + shared.SIZES
    + JOURNAL
    + QUORUM_PREFLIGHT
    + PROGRESS
    + Arguments(
        argument_spec={
            "state": {"type": "str", "choices": ["restarted", "configured"], "default": "restarted"},
            "force": {"type": "bool", "default": False},
            "settings": {"type": "dict", "options": SETTINGS},
            "unset": {"type": "list", "elements": "str", "choices": list(SETTINGS), "default": []},
            "attempts": {"type": "int", "default": 3},
            "verify_timeout_ms": {"type": "int", "default": 60000},
        }
    )
)


def main() -> None:
    module = AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True)
    needs = shared.LIBRARIES if module.params["state"] == "configured" else shared.libraries(module.params)
    run(module, results, needs=needs)


def results(module: AnsibleModule) -> dict[str, Any]:
    stop = stop_on_signals()

    from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner import restart_module

    done = restart_module.change(module.params, check_mode=module.check_mode, stop=stop)
    for warning in restart_module.warnings(done):
        module.warn(warning)
    return restart_module.results_of(done)


if __name__ == "__main__":
    main()
