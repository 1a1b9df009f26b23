# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where what tasks print goes to."""

from __future__ import annotations

import os

from ansible.utils import color


def is_terminal() -> bool:
    """Whether a person reads along in a terminal.

    Ansible decided about color before it detached its workers from the terminal, by what is asked here.
    ansible-runner, and so AWX, gives Ansible a terminal that nobody looks at.
    """
    return bool(color.ANSIBLE_COLOR) and "AWX_ISOLATED_DATA_DIR" not in os.environ
