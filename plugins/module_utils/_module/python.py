# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""End a module in words where its Python is too old for this collection's code. Every module imports this file first.

It is read by whatever Python Ansible found on the host, so it uses nothing that Python 3.8 does not have.
"""

from __future__ import annotations

import json
import platform
import sys

REQUIRED_PYTHON = (3, 11)


def _end_with_too_old_a_python() -> None:
    wanted = ".".join(map(str, REQUIRED_PYTHON))
    message = (
        f"{sys.executable} on {platform.node()} is Python {platform.python_version()}, and this module needs Python "
        f"{wanted} or later: set ansible_python_interpreter for this host to one that has the collection's libraries"
    )
    # AnsibleModule is not made yet, so its JSON is written here.
    sys.stdout.write(json.dumps({"failed": True, "msg": message}) + "\n")
    raise SystemExit(1)


if tuple(sys.version_info) < REQUIRED_PYTHON:
    _end_with_too_old_a_python()

# What these import may use what an old Python does not have.
from .._kafka.package import defer_clients  # noqa: E402
from .libraries import hide_outdated  # noqa: E402

hide_outdated("kafka", "pyspark")
defer_clients()
