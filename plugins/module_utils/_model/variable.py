# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write a variable as words of a command that a person pastes. Standard library only."""

from __future__ import annotations

import json
import re

_PLAIN = re.compile(r"[^\s'\"\\]+")


def set_variable(name: str, value: object) -> tuple[str, str]:
    """Return the words that set a variable, before a shell's quoting.

    Ansible splits name=value at spaces, and reads quotes and backslashes in it, so such a value needs JSON.
    """
    if isinstance(value, bool):
        return "-e", f"{name}={str(value).lower()}"
    if isinstance(value, list | dict) or not _PLAIN.fullmatch(str(value)):
        # A time in a file of variables is no text: YAML has a type for it.
        return "-e", json.dumps({name: value}, default=str)
    return "-e", f"{name}={value}"
