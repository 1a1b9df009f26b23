# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdicts of a campaign in a file, so that one of hours goes on where it was interrupted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

Kept = TypeVar("Kept")


def read_verdicts(path: str | None, kind: type[Kept]) -> list[Kept]:
    """Return the verdicts of an earlier campaign, without the aborted ones: these are run again."""
    try:
        written = json.loads(Path(path).read_text(encoding="utf-8")) if path else []
    except FileNotFoundError:
        return []
    return [kind(**fields) for fields in written if not fields["not_judged"]]


def write_verdicts(path: str | None, verdicts: Iterable[Any]) -> None:
    """Write all verdicts, if a file is named."""
    if path:
        Path(path).write_text(json.dumps([asdict(each) for each in verdicts], indent=1), encoding="utf-8")
