# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Draw the terminals of docs/pictures, with the output that documents show. ``python -m publish.pictures`` in tests/.

tests/integration/commands/test_shown.py compares that output with a real run, and a test compares the pictures with it.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

PROJECT = Path(__file__).resolve().parents[2]
PICTURES = PROJECT / "docs" / "pictures"
_COLUMNS = 80
_WITHOUT_FONTS = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""Rich's picture without the fonts that it would fetch from elsewhere."""
SHOWN = {"look": ("docs/runbook.md", "0 of 3 partitions")}
"""The document of each picture, and the first words of the output in it."""


def shown(document: str, first: str) -> str:
    """Return the block of a document that begins with these words."""
    text = (PROJECT / document).read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (block,) = (each for each in blocks if each.startswith(first))
    return str(block)


def drawn(name: str) -> str:
    """Return a picture."""
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), highlight=False)
    verdict, separator, rest = shown(*SHOWN[name]).partition("\n\n")
    console.print(verdict, style="bold", markup=False)
    console.print(f"{separator}{rest}".removeprefix("\n").rstrip("\n"), markup=False, no_wrap=True)
    title = "ansible-playbook kafkaops.recovery.recover_offline_partitions"
    picture = console.export_svg(
        title=title, theme=DEFAULT_TERMINAL_THEME, code_format=_WITHOUT_FONTS, unique_id=f"kafkaops-{name}"
    )
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"


def main() -> int:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    for name in SHOWN:
        (PICTURES / f"{name}.svg").write_text(drawn(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
