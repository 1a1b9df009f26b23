# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each directory of extensions/ says on one screen what it is, how to apply it, and what was proven with what."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from publish.artifact import PROJECT

_SCREEN = 50
_DIRECTORIES = sorted(each for each in (PROJECT / "extensions").iterdir() if each.is_dir())
_EACH = pytest.mark.parametrize("directory", _DIRECTORIES, ids=[each.name for each in _DIRECTORIES])


def readme(directory: Path) -> str:
    return (directory / "README.md").read_text(encoding="utf-8")


@_EACH
def test_a_readme_fits_on_a_screen_and_says_what_was_proven(directory: Path) -> None:
    text = readme(directory)
    assert len(text.splitlines()) <= _SCREEN
    for part in ("^Apply:", "^Proven \\(`make ", "[Nn]ot proven|Only a real AWX can prove"):
        assert re.search(part, text, re.MULTILINE), part


@_EACH
def test_every_target_and_file_that_is_named_exists(directory: Path) -> None:
    text = readme(directory)
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z-]+)", text):
        assert f"\n{target}:" in makefile
    assert [each for each in re.findall(r"\]\(([^)#]+)", text) if not (directory / each).exists()] == []
    assert [each.name for each in directory.iterdir() if each.name != "README.md" and each.name not in text] == []
