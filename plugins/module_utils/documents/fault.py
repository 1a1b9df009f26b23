# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with a document, and where in it. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError

MAX_FAULTS = 1000
"""Looking for faults stops here: nobody reads more, and the memory they take stays bounded."""
SHOWN_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, for the person who has to put it right."""

    place: str
    """JSON pointer (RFC 6901; "" is the whole document), or "line 3, column 7" where the text is not JSON yet."""
    problem: str
    """What was found, and what should be there."""
    remedy: str

    def __str__(self) -> str:
        return f"{self.place or 'whole document'}: {self.problem}. {self.remedy}"


class DocumentError(KafkaOpsError):
    """A document that is refused, with every fault that was found in it.

    ``path`` is the file's path, or what the value is called where it did not come from a file.
    The message shows the first ``SHOWN_FAULTS``; ``faults`` holds up to ``MAX_FAULTS``.
    """

    def __init__(self, path: str, faults: Iterable[Fault]) -> None:
        self.path = path
        self.faults = tuple(faults)
        super().__init__(path, self.faults)

    def __str__(self) -> str:
        count = len(self.faults)
        at_least = "at least " if count >= MAX_FAULTS else ""
        head = f"{self.path} is refused: {at_least}{count} {'fault' if count == 1 else 'faults'}"
        lines = [head, *(f"  {fault}" for fault in self.faults[:SHOWN_FAULTS])]
        if count > SHOWN_FAULTS:
            lines.append(f"  and {at_least}{count - SHOWN_FAULTS} more")
        return "\n".join(lines)


def refuse_if_any(path: str, faults: Iterable[Fault]) -> None:
    """Raises DocumentError when there are faults, with the first ``MAX_FAULTS`` of them."""
    found = tuple(islice(faults, MAX_FAULTS))
    if found:
        raise DocumentError(path, found)
