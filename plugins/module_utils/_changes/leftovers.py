# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build results and messages about changes that earlier runs left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .record import RESTORING, AnyLeftover, Undoing


def leftover_results(leftovers: Iterable[AnyLeftover]) -> list[dict[str, str]]:
    """Return the results of changes that earlier runs left."""
    return [{"change": str(each.change), "undoing": each.undoing.value, "reason": each.reason} for each in leftovers]


def failure_message(failures: Sequence[str], leftovers: Iterable[AnyLeftover]) -> str:
    """Return why the module fails, with one reason in each line; empty if it does not."""
    stuck = [
        f"an earlier run left {each.change}: {each.reason}" for each in leftovers if each.undoing is Undoing.FAILED
    ]
    return "\n".join([*failures, *stuck])


def conflict_warnings(notes: Sequence[str], leftovers: Iterable[AnyLeftover]) -> list[str]:
    """Return warnings of the journal, and of changes that stay: another party changed them, or a broker is down."""
    staying = [each for each in leftovers if each.undoing in (Undoing.CONFLICT, Undoing.WAITS)]
    return [*notes, *(f"{each.change}: {each.reason}" for each in staying)]


def restored_diff(leftovers: Iterable[AnyLeftover], word: str) -> dict[str, str]:
    """Return the restored changes of earlier runs, each with this word, for one side of a diff."""
    return {str(each.change): word for each in leftovers if each.undoing in RESTORING}
