#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the report of a log cleaner recovery."""

from __future__ import annotations

DOCUMENTATION = r"""
module: log_cleaner_report
short_description: Write the report of a log cleaner recovery
version_added: 1.0.0
description:
  - Joins the results of the log cleaner modules, checks them by their JSON Schema, and writes them to a new file.
  - Without O(before), it only checks that the file can be written.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [kafkaops.recovery.attributes, kafkaops.recovery.log_cleaner.results]
attributes:
  check_mode: {support: full, details: ["Writes the report of the check."]}
  diff_mode: {support: none}
  idempotent: {support: none, details: [A report is never overwritten.]}
requirements: [jsonschema >= 4.26]
options:
  report_file:
    description:
      - Where to write the report. The file must not exist.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Write the report
  kafkaops.recovery.log_cleaner_report:
    report_file: /var/log/kafkaops/cleaners.json
    before: "{{ before }}"
    restart: "{{ restart }}"
    after: "{{ after }}"
"""

RETURN = r"""
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import refuse_existing
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import utc_now
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import DOCUMENTS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run

ARGUMENTS = Arguments(
    argument_spec={
        "report_file": {"type": "path", "required": True},
        "before": {"type": "dict"},
        "restart": {"type": "dict", "default": {}},
        "repair": {"type": "dict", "default": {}},
        "after": {"type": "dict"},
    }
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=DOCUMENTS)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner import report
    from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import write_document

    params = module.params
    refuse_existing(params["report_file"])
    if params["before"] is not None:
        document = report.log_cleaner_report_document(
            params["before"],
            params["restart"],
            params["repair"],
            params["after"] if params["after"] is not None else params["before"],
            utc_now(),
            is_check=module.check_mode,
        )
        write_document(params["report_file"], document, report.LOG_CLEANER_REPORT)
    # A report is no change of the cluster.
    return {"changed": False}


if __name__ == "__main__":
    main()
