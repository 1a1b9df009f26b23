#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The minimum that a module of this collection does: connect, and read all partitions once.

Without the other views, journal, report, groups and start order of offline_partition_info. Benchmark healthy shows what
it takes: the files of the connection are packed by Ansible and compiled by Python each time.
"""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import describe_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    connection_settings,
)


def main() -> None:
    """Return the number of partitions that have no leader."""
    module = AnsibleModule(**CONNECTION.to_kwargs(), supports_check_mode=True)
    with Wire(connection_settings(module.params)) as wire:
        found = describe_partitions(wire).partitions
    module.exit_json(changed=False, offline=sum(each.is_offline for each in found))


if __name__ == "__main__":
    main()
