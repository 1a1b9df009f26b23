# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say that a name was not found, with the names that are most like it. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

_MOST_NEAR = 3
_ALIKE = 0.75
_MOST_EXPLAINED = 5
"""Names that are compared with all others. Of a long list of wrong names, a person needs the first few."""


def not_found(names: Iterable[str], known: Collection[str], what: str = "topic") -> dict[str, str]:
    """Return a text for each of the names that were not found: "topic order was not found: did you mean orders?"."""
    texts = {}
    for number, name in enumerate(sorted({*names})):
        near = _most_like(name, known) if number < _MOST_EXPLAINED else []
        hint = f": did you mean {' or '.join(near)}?" if near else ""
        texts[name] = f"{what} {name} was not found{hint}"
    return texts


def _most_like(name: str, known: Collection[str]) -> list[str]:
    by_small_letters: dict[str, str] = {each.lower(): each for each in sorted(known, reverse=True)}
    return [by_small_letters[each] for each in get_close_matches(name.lower(), by_small_letters, _MOST_NEAR, _ALIKE)]
