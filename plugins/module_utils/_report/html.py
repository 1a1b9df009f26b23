# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A page as one HTML file: autoescaped, without a script, with a policy that lets nothing be loaded."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING

from .blocks import Block
from .charts import HATCH
from .page import Page
from .template import STYLE, TEMPLATE

if TYPE_CHECKING:
    from markupsafe import Markup

with suppress(ImportError):
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup


def to_html(page: Page) -> bytes:
    """Return the file's bytes, UTF-8. Every text of the page is escaped; only pictures and the style are not."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters["groupby_runs"] = _runs
    # Vega escapes the texts of a picture.
    environment.filters["trusted"] = Markup
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    html = environment.from_string(TEMPLATE).render(
        page=page, style=Markup(STYLE), style_digest=f"sha256-{digest}", hatch=HATCH
    )
    return html.encode("utf-8", errors="replace")


def _runs(blocks: Iterable[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Neighbors of the same kind together: pictures stand side by side."""
    for kind, run in groupby(blocks, key=lambda each: each.kind):
        yield kind, list(run)
