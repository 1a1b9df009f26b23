# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever of this project a document names exists: playbooks, modules, roles, their variables, and files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from publish.site import PROJECT

DOCUMENTS = sorted(
    each
    for place in ("*.md", "docs/*.md", "roles/*/README.md", "extensions/*/README.md")
    for each in PROJECT.glob(place)
)
FILE = re.compile(r"(?<![\w./])(?:changelogs|docs|extensions|playbooks|plugins|roles|tests)/[\w./-]+\.\w+")
NAME = re.compile(r"kafkaops\.recovery\.([a-z]\w*)")


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _variables() -> set[str]:
    specs = [_read(each)["argument_specs"] for each in (PROJECT / "roles").glob("*/meta/argument_specs.yml")]
    return {name for spec in specs for entry in spec.values() for name in entry["options"]}


def _contents() -> set[str]:
    """Return what an FQCN of this collection can name."""
    places = ("playbooks/*.yml", "plugins/[a-l]*/*.*", "plugins/modules/*.py", "roles/*", "extensions/eda/rulebooks/*")
    groups = _read(PROJECT / "meta/runtime.yml")["action_groups"]
    return {each.stem for place in places for each in PROJECT.glob(place)} | {*groups}


VARIABLES, CONTENTS = _variables(), _contents()
_PREFIXES = "|".join({"_".join(each.split("_")[:2]) for each in VARIABLES})
VARIABLE = re.compile(rf"\b(?:{_PREFIXES})_\w+")
CODE = "".join(
    each.read_text(encoding="utf-8")
    for place in ("plugins", "roles", "playbooks")
    for each in (PROJECT / place).rglob("*")
    if each.suffix in (".py", ".yml")
)
"""It also names what is no option: facts that roles publish, and fields."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_all_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert {*NAME.findall(text)} - CONTENTS == set()
    unknown = {*VARIABLE.findall(text)} - VARIABLES
    assert [each for each in unknown if not re.search(rf"\b{each}\b", CODE)] == []
    assert [each for each in FILE.findall(text) if not (PROJECT / each).exists()] == []
