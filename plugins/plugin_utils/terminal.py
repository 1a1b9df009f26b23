# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find out whether the output of tasks goes to a terminal."""

from __future__ import annotations

import os

from ansible.utils import color


def is_terminal() -> bool:
    """Return whether a person reads the output in a terminal.

    The workers are detached from the terminal, so this checks whether Ansible decided to use color before that.
    ansible-runner, and so AWX, gives Ansible a terminal that nobody reads.
    """
    return bool(color.ANSIBLE_COLOR) and "AWX_ISOLATED_DATA_DIR" not in os.environ
