# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sources of the documentation site: every guide is in the index, and every link leads somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from publish import pictures, site


def test_the_guides_are_complete(tmp_path: Path) -> None:
    site.copy_guides(tmp_path)
    assert (tmp_path / "guides" / "runbook.md").is_file()
    assert (tmp_path / "guides" / "pictures" / "look.svg").is_file()


def test_a_broken_link_is_found() -> None:
    guide = site.DOCS / "runbook.md"
    assert site.broken_links(guide, "[a](quorum.md#x) [b](nowhere.md) [c](https://example.com)") == ["nowhere.md"]


def test_a_link_out_of_the_guides_leads_to_the_repository() -> None:
    text = site.for_site(site.DOCS / "quorum.md", "[a](runbook.md#x) [b](../extensions/awx/README.md#y)")
    assert text == f"[a](runbook.md#x) [b]({site.REPOSITORY}/extensions/awx/README.md#y)"


@pytest.mark.parametrize("kind", ["action", "callback", "lookup"])
def test_the_reference_finds_ansible_s_page_about_each_kind_of_plugin(kind: str) -> None:
    """Without the label, the site does not build; only ``make test-all`` builds it."""
    assert [*(site.PROJECT / "plugins" / kind).glob("*.py")]
    assert f".. _{kind}_plugins:\n" in (site.DOCS / "site" / "ansible.rst").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", pictures.SHOWN)
def test_a_picture_shows_what_the_document_shows(name: str) -> None:
    """Of which another test knows that a real run prints it. ``python -m publish.pictures`` draws it again."""
    assert (pictures.PICTURES / f"{name}.svg").read_text(encoding="utf-8") == pictures.drawn(name)
