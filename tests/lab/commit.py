# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The commit that published results belong to."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.playbook import PROJECT


def commit_on_trial(*results: Path) -> str:
    """Return the newest commit of the code, with a plus sign if it has changes that are not committed.

    What only changes ``results``, files of the project, is not a change of the code. Empty without git.
    """
    code = ["--", ".", *(f":(exclude){each.relative_to(PROJECT)}" for each in results)]

    def git(*arguments: str) -> str:
        ran = subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    try:
        return git("log", "-1", "--format=%h", *code) + ("+" if git("status", "--porcelain", *code) else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
