#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a plan file, and renew its digest after a manual edit."""

from __future__ import annotations

DOCUMENTATION = r"""
module: recovery_plan
short_description: Check a plan file, or renew its digest after a manual edit
version_added: 1.0.0
description:
  - Checks a plan file that M(kafkaops.recovery.leader_candidate_info) wrote, and reports every error with its position
    in the file.
  - Renews the digest of a plan file that was edited manually, for example to designate another candidate. Without a new
    digest, M(kafkaops.recovery.designated_election) refuses an edited file.
  - Opens no connection. The plan is compared with the cluster when it is carried out.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [kafkaops.recovery.attributes]
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
  idempotent: {support: full}
requirements: [jsonschema >= 4.26]
options:
  path:
    description:
      - The plan file.
      - At most 1 GiB of UTF-8, with or without a byte order mark. A file that other users may write is refused.
    type: path
    required: true
  state:
    description:
      - V(checked) only reads. It fails if anything is wrong, the digest included.
      - V(digest_renewed) checks each election like a new one, by the strategy and the limit of lost records in its
        entry. It fails if an election is refused, or if anything except the digest is wrong. It then rewrites the plan
        with new reasons and forecasts of edited elections, in the usual layout, and with the digest of its content. The
        file is replaced atomically and keeps its owner and mode.
    type: str
    choices: [checked, digest_renewed]
    default: checked
seealso:
  - module: kafkaops.recovery.leader_candidate_info
    description: Writes plan files.
  - module: kafkaops.recovery.designated_election
    description: Carries them out.
"""

EXAMPLES = r"""
- name: Check a plan before the maintenance window
  kafkaops.recovery.recovery_plan:
    path: plan.json

- name: Renew the digest after a reviewed edit
  kafkaops.recovery.recovery_plan:
    path: plan.json
    state: digest_renewed
"""

RETURN = r"""
cluster_id:
  description: The id of the cluster that the plan is for.
  returned: success
  type: str
  sample: 4L6g3nShT-eMCtK--X86sw
created_at: {type: str, returned: success, sample: "2026-01-31T23:59:59Z", description: "When the plan was made, UTC."}
digest:
  description: The digest of the plan's content.
  returned: success
  type: str
  sample: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
elections: {type: int, returned: success, sample: 3000, description: How many elections are planned.}
left_alone: {type: int, returned: success, sample: 2, description: How many requested partitions get no election.}
"""

import os
import tempfile
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import DOCUMENTS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["checked", "digest_renewed"], "default": "checked"},
        },
        supports_check_mode=True,
    )
    run(module, results, needs=DOCUMENTS)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import format_document
    from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import check_file

    path, renew = module.params["path"], module.params["state"] == "digest_renewed"
    file = check_file(path, digest_must_fit=not renew)
    wanted = format_document(file.document) if renew else file.found
    changed = wanted != file.found
    if changed and not module.check_mode:
        replace(module, path, wanted)
    diff = {"before_header": path, "before": file.found.decode(), "after_header": path, "after": wanted.decode()}
    return {
        "changed": changed,
        "cluster_id": file.plan.cluster_id,
        "created_at": file.plan.created_at,
        "digest": file.document["digest"],
        "elections": len(file.plan.elections),
        "left_alone": len(file.plan.left_alone),
        **({"diff": diff} if module._diff else {}),
    }


def replace(module: AnsibleModule, path: str, data: bytes) -> None:
    """Put new content into an existing file, at once and with its owner and mode as they were."""
    descriptor, temporary = tempfile.mkstemp(dir=module.tmpdir)
    with open(descriptor, "wb") as file:
        file.write(data)
    # What a symbolic link points to is replaced, not the link.
    module.atomic_move(temporary, os.path.realpath(path))


if __name__ == "__main__":
    main()
