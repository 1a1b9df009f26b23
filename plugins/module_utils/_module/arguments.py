# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts of a module's arguments, which are put together with the rules that hold between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Names = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Options and the rules between them, in AnsibleModule's own words. Parts are added up with ``+``."""

    argument_spec: Mapping[str, Any]
    mutually_exclusive: Names = field(default=())
    required_one_of: Names = field(default=())

    def __add__(self, other: Arguments) -> Arguments:
        return Arguments(
            argument_spec={**self.argument_spec, **other.argument_spec},
            mutually_exclusive=[*self.mutually_exclusive, *other.mutually_exclusive],
            required_one_of=[*self.required_one_of, *other.required_one_of],
        )

    def to_kwargs(self) -> dict[str, Any]:
        """Return the keyword arguments of AnsibleModule."""
        return {
            "argument_spec": dict(self.argument_spec),
            "mutually_exclusive": list(self.mutually_exclusive),
            "required_one_of": list(self.required_one_of),
        }
