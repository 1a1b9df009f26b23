# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Progress that leaves a module while it runs: lines of a file, which the action plugin of the same name follows."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.progress import NullProgress, Progress

PROGRESS = Arguments(argument_spec={"progress_file": {"type": "path"}})


def progress_to(path: str | None) -> Progress:
    """Progress that goes to a file, or nowhere."""
    return FileProgress(path) if path is not None else NullProgress()


class FileProgress:
    """One JSON object a line: ``text``, ``done`` and ``total``. A file that cannot be written fails no recovery."""

    def __init__(self, path: str) -> None:
        self._path = path

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        line = json.dumps({"text": text, "done": done, "total": total}) + "\n"
        with suppress(OSError):
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with open(descriptor, "a", encoding="utf-8") as file:
                file.write(line)
