# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a module runs and ends. Only here do typed errors become ``fail_json``, and signals a request to end."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NoReturn

from ansible.module_utils.basic import AnsibleModule

from .._model.run import KafkaOpsError
from .libraries import KAFKA, unusable

_COLLECTOR = (100_000, 50, 100)
"""Python looks for cycles after so many new objects, and through older ones after so many such looks.

A plan of 3,000 elections is half a million objects that stay. By Python's own 700, 10 and 10, a third of the CPU time
of writing and reading it is spent on looking for cycles, and none is found.
"""


def run(
    module: AnsibleModule, work: Callable[[AnsibleModule], dict[str, Any]], *, needs: Sequence[str] = KAFKA
) -> NoReturn:
    """End the module with the results of ``work``. It fails when they have a ``msg``, or on an expected error.

    ``needs`` are the libraries without which ``work`` is not begun.
    """
    gc.set_threshold(*_COLLECTOR)
    lacking = unusable(needs)
    try:
        results = {"msg": lacking} if lacking else work(module)
    except KafkaOpsError as error:
        results = {"msg": str(error)}
    # Outside the except clause: Ansible may add the traceback of an error that is being handled.
    end = module.fail_json if "msg" in results else module.exit_json
    end(**results)
    raise AssertionError("Ansible's modules end in fail_json and exit_json")


def stop_on_signals() -> threading.Event:
    """Return an event that SIGTERM, SIGINT and SIGHUP set, instead of ending the process.

    Ansible passes the first two on to the module when it is ended itself. SIGHUP is a lost terminal.
    """
    stop = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ask)
    return stop
