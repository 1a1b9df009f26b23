#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write one HTML file about one incident."""

from __future__ import annotations

DOCUMENTATION = r"""
module: incident_report
short_description: Write one HTML file about one incident
version_added: 1.0.0
description:
  - Joins the documents of one incident on one page. The page has the verdict, a timeline, brokers, pictures of the
    replicas' logs, lost records, leaders, the aftermath, findings, and the documents with their digests.
  - Reads recovery, leadership, log cleaner, quorum, readiness, stop gate, redundancy, group and exposure reports,
    plans, results of M(kafkaops.recovery.offline_partition_info) that were saved as JSON, evidence, and manifests and
    reports of salvages and replays. It shows what each of these runs did, and for each partition how many records were
    held, saved, replayed, and are still lost.
  - The verdict is about all runs together. Of each partition, the outcome of the last run that names it counts. A
    partition that one run elected and a later run finds online is recovered. Without outcomes, the worst answer is the
    verdict, and of two answers to the same question the newer one counts.
  - Documents of several clusters are not mixed. Each cluster has its own verdict, sections and next steps.
  - The file has no script and loads no other file. It can be printed, and read on a phone.
  - Connects to no broker.
author: [the kafkaops.recovery authors (@kafkaops)]
requirements:
  - jinja2 >= 3.1
  - jsonschema >= 4.26
  - pyarrow, for evidence
  - vl-convert-python, for pictures. Without it the page has its tables, and says that the pictures are missing.
extends_documentation_fragment: [kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module]
options:
  files:
    description:
      - Paths of the documents. A directory must be evidence.
    type: list
    elements: path
    default: []
  directory:
    description:
      - Directory with all documents of the incident. All its JSON files and evidence directories are read, and the
        manifest of each salvage directory in it. A file that cannot be read, or that is none of these documents, is
        named on the page and skipped.
    type: path
  html:
    description:
      - Where to write the page. The file must not exist. It is written in check mode too, because it does not change
        the cluster.
    type: path
    required: true
  title:
    description:
      - Title of the page.
    type: str
    default: Kafka incident report
  approvals:
    description:
      - Who approved a plan, for the timeline. No document contains this.
    type: list
    elements: dict
    default: []
    suboptions:
      at: {type: str, required: true, description: "When, in UTC, such as V(2026-01-31T23:59:59Z)."}
      by: {type: str, required: true, description: "The name of the person."}
      plan_digest: {type: str, description: The C(digest) of the plan. The plan must be one of the documents.}
"""

EXAMPLES = r"""
- name: Write the report of an incident
  kafkaops.recovery.incident_report:
    directory: /srv/incidents/2026-01-31
    html: /srv/incidents/2026-01-31.html

- name: Write the report of two documents
  kafkaops.recovery.incident_report:
    files:
      - plan.json
      - report.json
    html: incident.html
"""

RETURN = r"""
html: {type: str, returned: success, sample: /srv/incidents/2026-01-31.html, description: Path of the page.}
verdict:
  description: The first sentence of the page.
  returned: success
  type: str
  sample: '3 of 3 partitions recovered; no record was lost.'
documents:
  description: The documents that were read.
  returned: success
  type: list
  elements: dict
  sample:
    - path: report.json
      kind: recovery report
      sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
  contains:
    path: {type: str, description: The file or directory.}
    kind: {type: str, description: The kind of document.}
    sha256: {type: str, description: Digest of its content.}
left_out:
  description: Files of O(directory) that are not on the page, because they are damaged or no documents.
  returned: success
  type: list
  elements: dict
  sample:
    - path: /srv/incidents/2026-01-31/package.json
      reason: "/srv/incidents/2026-01-31/package.json is refused: it is none of: plan, report"
      is_damaged: false
  contains:
    path: {type: str, description: The file or directory.}
    reason: {type: str, description: Why it was skipped.}
    is_damaged: {type: bool, description: "Whether it may belong to the incident. If not, it is other JSON."}
has_pictures:
  description: Whether vl-convert-python is installed. The page has no pictures without it.
  returned: success
  type: bool
  sample: true
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "path", "default": []},
            "directory": {"type": "path"},
            "html": {"type": "path", "required": True},
            "title": {"type": "str", "default": "Kafka incident report"},
            "approvals": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "at": {"type": "str", "required": True},
                    "by": {"type": "str", "required": True},
                    "plan_digest": {"type": "str"},
                },
            },
        },
        supports_check_mode=True,
    )
    run(module, results, needs=REPORT)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import (
        refuse_existing,
        write_new_file,
    )
    from ansible_collections.kafkaops.recovery.plugins.module_utils._report.charts import can_draw
    from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import build_page
    from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import (
        check_approvals,
        read_documents,
    )
    from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html

    params = module.params
    refuse_existing(params["html"])
    read = read_documents(params["files"], params["directory"])
    sources = read.sources
    page = build_page(sources, params["title"], check_approvals(params["approvals"], sources), read.skipped)
    write_new_file(params["html"], render_html(page))
    return {
        "changed": False,
        "html": params["html"],
        "verdict": page.verdict,
        "documents": [{"path": each.path, "kind": each.kind.value, "sha256": each.sha256} for each in sources],
        "left_out": [
            {"path": each.path, "reason": each.reason, "is_damaged": each.is_damaged} for each in read.skipped
        ],
        "has_pictures": can_draw(),
    }


if __name__ == "__main__":
    main()
