# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""End a module with a clear message if its Python is too old for this collection. Every module imports this file first.

Ansible may run it with an old Python, so it uses only features of Python 3.8.
"""

from __future__ import annotations

import json
import platform
import sys

REQUIRED_PYTHON = (3, 11)


def _fail_for_old_python() -> None:
    wanted = ".".join(map(str, REQUIRED_PYTHON))
    message = (
        f"{sys.executable} on {platform.node()} is Python {platform.python_version()}, and this module needs Python "
        f"{wanted} or later: set ansible_python_interpreter for this host to one that has the collection's libraries"
    )
    # There is no AnsibleModule yet, so its JSON is written here.
    sys.stdout.write(json.dumps({"failed": True, "msg": message}) + "\n")
    raise SystemExit(1)


if tuple(sys.version_info) < REQUIRED_PYTHON:
    _fail_for_old_python()

# Not at the top: an old Python cannot import these.
from .._kafka.package import defer_clients  # noqa: E402
from .libraries import hide_outdated  # noqa: E402

hide_outdated("kafka", "pyspark")
defer_clients()
