#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the content of a salvage directory."""

from __future__ import annotations

DOCUMENTATION = r"""
module: salvage_info
short_description: Describe the content of a salvage directory
version_added: 1.0.0
description:
  - Reads the manifest of a salvage directory, and compares the files with it. Returns counts, ranges and times of each
    partition, but no key and no value.
  - Connects to no cluster.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.salvage.source, kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module]
requirements: [jsonschema >= 4.26]
options:
  verify_files:
    description:
      - Whether to read every file and compare its SHA-256 with the manifest.
      - The module fails if one differs.
    type: bool
    default: true
seealso:
  - module: kafkaops.recovery.replica_log_salvage
"""

EXAMPLES = r"""
- name: Show what was saved
  kafkaops.recovery.salvage_info:
    salvage_dir: /var/tmp/salvage-2026-01-31
  register: salvage
"""

RETURN = r"""
salvage_id: {type: str, returned: success, sample: 6cfb1b2c-20c5-4a38-9a51-0a4c1d8d6f35, description: Its id.}
cluster_id:
  description: The cluster that the records are of.
  returned: success
  type: str
  sample: 4L6g3nShT-eMCtK--X86sw
taken_at: {type: str, returned: success, sample: "2026-01-31T23:59:59Z", description: "When it was saved, UTC."}
taken_on: {type: str, returned: success, sample: kafka1.example.com, description: Name of the host that saved it.}
taken_by: {type: str, returned: success, sample: kafka, description: Name of the user that saved it.}
collection_version:
  description: Version of this collection that saved it.
  returned: success
  type: str
  sample: 1.0.0
origins:
  description: The brokers of the records, with their log directories if the records were read from disk.
  returned: success
  type: list
  elements: dict
  sample: [{broker_id: 1, directory_ids: [mePA1r_yQ1ONASIRwvJ56g], log_dirs: [/var/lib/kafka]}]
summary:
  description: Counts over all partitions.
  returned: success
  type: dict
  sample: {partitions: 1, records: 250, bytes: 3120, files: 2, file_bytes: 20480}
partitions:
  returned: success
  type: list
  elements: dict
  description: The saved records of each partition, in order of topic and number. Times are milliseconds since the
    epoch.
  contains:
    topic: {type: str, description: Name of the topic.}
    partition: {type: int, description: Number of the partition.}
    topic_id: {type: str, description: Id of the topic.}
    ranges: {type: list, elements: dict, description: "Offsets of one leader epoch each, the end exclusive."}
    records: {type: int, description: Data records without control records.}
    bytes: {type: int, description: Bytes of keys and values.}
    first_timestamp_ms: {type: int, description: The oldest timestamp.}
    last_timestamp_ms: {type: int, description: The newest timestamp.}
    committed: {type: int, description: Records of committed transactions.}
    aborted: {type: int, description: Records of aborted transactions.}
    unknown: {type: int, description: "Records of transactions whose outcome no marker proves."}
    committed_transactions: {type: int, description: Commit markers.}
    aborted_transactions: {type: int, description: Abort markers.}
    open_transactions: {type: int, description: Producers with records of unknown outcome.}
    undecodable_batches:
      description: Batches with a good checksum that do not decode. They are kept as raw batches.
      type: int
    batches: {type: int, description: Raw batches.}
    largest_record_bytes: {type: int, description: "Bytes of key, value and headers of the largest record."}
    largest_batch_bytes: {type: int, description: "Bytes of the largest raw batch, compressed as it was."}
  sample:
    - topic: orders
      partition: 0
      topic_id: 0kEHEMDdQ5eSgSKUP1y6Sw
      ranges: [{epoch: 0, start_offset: 100, end_offset: 350}]
      records: 250
      bytes: 3120
      first_timestamp_ms: 1769900000000
      last_timestamp_ms: 1769900000250
      committed: 0
      aborted: 0
      unknown: 0
      committed_transactions: 0
      aborted_transactions: 0
      open_transactions: 0
      undecodable_batches: 0
      batches: 3
      largest_record_bytes: 42
      largest_batch_bytes: 1340
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import DOCUMENTS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run, to_json_types

ARGUMENT_SPEC = {
    "salvage_dir": {"type": "path", "required": True},
    "verify_files": {"type": "bool", "default": True},
}


def main() -> None:
    run(AnsibleModule(argument_spec=ARGUMENT_SPEC, supports_check_mode=True), results, needs=DOCUMENTS)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import (
        find_file_problems,
        read_manifest,
    )
    from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.remote import local_copy

    with local_copy(module.params["salvage_dir"]) as directory:
        manifest = read_manifest(directory)
        problems = find_file_problems(directory, manifest.files) if module.params["verify_files"] else []
    described = to_json_types(manifest)
    del described["schema_version"]
    files = described.pop("files")
    summary = {
        "partitions": len(manifest.partitions),
        "records": sum(each.records for each in manifest.partitions),
        "bytes": sum(each.bytes for each in manifest.partitions),
        "files": len(files),
        "file_bytes": sum(each["size"] for each in files),
    }
    failure = {"msg": "; ".join(problems)} if problems else {}
    return {"changed": False, **described, "summary": summary, **failure}


if __name__ == "__main__":
    main()
