# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a module ends: the only place that turns typed errors into ``fail_json``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.libraries import KAFKA, missing
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError


def run(
    module: AnsibleModule, work: Callable[[AnsibleModule], dict[str, Any]], *, needs: Sequence[str] = KAFKA
) -> NoReturn:
    """Ends the module with what ``work`` returns. It fails when that has a ``msg``, or on an expected error.

    ``needs`` are the libraries without which ``work`` is not begun.
    """
    lacking = missing(needs)
    try:
        results = {"msg": missing_required_lib(", ".join(lacking))} if lacking else work(module)
    except KafkaOpsError as error:
        results = {"msg": str(error)}
    # Outside the except clause: Ansible may add the traceback of an error that is being handled.
    end = module.fail_json if "msg" in results else module.exit_json
    end(**results)
    raise AssertionError("Ansible's modules end in fail_json and exit_json")
