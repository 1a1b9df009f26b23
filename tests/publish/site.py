# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the documentation site, offline, with every warning an error. ``.venv-docs/bin/python -m publish.site``.

Modules and roles come from their argument specs by antsibull-docs, guides from docs/. Standard library only: it runs in
a virtual environment of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
PICTURES = DOCS / "pictures"
BUILD = PROJECT / ".cache" / "site"
REPOSITORY = "https://github.com/kafkaops/recovery/blob/main"
_LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(#[^)\s]*)?\)")


class SiteError(Exception):
    """The site cannot be built: the message says what is wrong with its sources."""


def main() -> int:
    """Build the site; return 1 if a source is wrong."""
    source, html = BUILD / "source", BUILD / "html"
    shutil.rmtree(BUILD, ignore_errors=True)
    source.mkdir(parents=True)
    try:
        copy_guides(source)
    except SiteError as error:
        print(error)
        return 1
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(PROJECT / ".venv" / "collections"),
    }
    reference = source / "reference"
    reference.mkdir(mode=0o755)
    for command in (
        [
            "antsibull-docs",
            "collection",
            "--use-current",
            "--squash-hierarchy",
            "--fail-on-error",
            "--dest-dir",
            str(reference),
            "kafkaops.recovery",
        ],
        ["sphinx-build", "--fail-on-warning", "--keep-going", "--quiet", "-b", "html", str(source), str(html)],
    ):
        ran = subprocess.run(command, cwd=PROJECT, env=environment, check=False)
        if ran.returncode:
            print(f"{command[0]} failed with exit status {ran.returncode}.")
            return 1
    print(f"The site: {html / 'index.html'}")
    return 0


def copy_guides(source: Path) -> None:
    """Copy the guides and the site's own files, with links that lead out of docs/ pointing to the repository.

    Raises SiteError for a link to a file that does not exist, and for a guide that the index leaves out.
    """
    for name in ("conf.py", "index.md", "ansible.rst"):
        shutil.copy(DOCS / "site" / name, source / name)
    guides = source / "guides"
    guides.mkdir()
    shutil.copytree(PICTURES, guides / PICTURES.name)
    wrong = []
    index = (DOCS / "site" / "index.md").read_text(encoding="utf-8")
    for guide in sorted(DOCS.glob("*.md")):
        if guide.name == "README.md":
            continue
        if f"guides/{guide.stem}\n" not in index:
            wrong.append(f"docs/site/index.md does not name docs/{guide.name}")
        text = guide.read_text(encoding="utf-8")
        wrong += [f"docs/{guide.name} links to {each}, which does not exist" for each in broken_links(guide, text)]
        (guides / guide.name).write_text(for_site(guide, text), encoding="utf-8")
    if wrong:
        raise SiteError("\n".join(wrong))


def broken_links(guide: Path, text: str) -> list[str]:
    """Return the relative links of a guide whose targets do not exist."""
    return [target for target, _anchor in _LINK.findall(text) if not (guide.parent / target).exists()]


def for_site(guide: Path, text: str) -> str:
    """Return a guide's text with links to files that are not guides pointing to the repository."""

    def point(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        path = (guide.parent / target).resolve()
        if path.parent == PICTURES or (path.parent == DOCS and path.suffix == ".md" and path.name != "README.md"):
            return match[0]
        return f"]({REPOSITORY}/{path.relative_to(PROJECT).as_posix()}{anchor})"

    return _LINK.sub(point, text)


if __name__ == "__main__":
    sys.exit(main())
