# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Texts that a person has read and approved: the files of tests/unit/plugin_utils/approved/.

After an intended change, run the tests with UPDATE_APPROVED=1 in the environment, and read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

_APPROVED = Path(__file__).with_name("approved")


def approve(name: str, text: str) -> None:
    """Check that the text is the approved one of this name."""
    path = _APPROVED / f"{name}.txt"
    if "UPDATE_APPROVED" in os.environ:
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8"), f"{path} shows what was approved"
