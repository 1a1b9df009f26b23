# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Render a page as one HTML file: escaped, without scripts, with a policy that forbids loading anything.

The template is a string, because Ansible sends a module to its host with Python files only.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING

from .blocks import Block
from .charts import HATCH
from .page import Page

if TYPE_CHECKING:
    from markupsafe import Markup

with suppress(ImportError):
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup


_MOST_PICTURES = 6
"""How many adjacent pictures are shown without a click."""

_UNSEEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that change the direction of writing: a text of a broker could read otherwise."""

STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --page: #ffffff; --soft: #f3f4f6; --line: #8886; }
:root { --good: #1a7f37; --warning: #8a5a00; --bad: #c62828; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --page: #0d1117; --soft: #1c2128; --good: #56d364; --warning: #e3b341; --bad: #ff8a80; }
}
* { box-sizing: border-box; }
body { color: var(--text); background: var(--page); overflow-wrap: anywhere; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
.verdict { font-size: 1.25rem; font-weight: 600; border-left: .4rem solid; padding: .5rem 1rem; }
.verdict { background: var(--soft); }
.good { color: var(--good); } .warning { color: var(--warning); } .bad { color: var(--bad); }
.facts { margin: 0; } .facts div { display: inline-block; margin-right: 2rem; }
.facts dt, .facts dd { display: inline; margin: 0; } .facts dt::after { content: ": "; }
.scroll { overflow-x: auto; margin: .5rem 0 1rem; }
table { border-collapse: collapse; min-width: 50%; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem 1rem .25rem 0; border-top: 1px solid var(--line); }
th, td { overflow-wrap: break-word; } td { max-width: 34rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: 0; break-inside: avoid; }
figure h3 { font-size: 1rem; margin: 0; } figcaption { font-size: .9rem; }
figure svg { width: 100%; max-width: 32rem; height: auto; }
pre, code { font: .85rem/1.4 ui-monospace, monospace; white-space: pre-wrap; }
pre { border: 1px solid var(--line); padding: .5rem; overflow-x: auto; }
details { margin: .5rem 0; } summary { cursor: pointer; }
.steps { list-style: none; padding: 0; } .steps li { margin: .5rem 0; padding-left: 1.6rem; text-indent: -1.6rem; }
.steps li::before { content: "\\2610\\00a0\\00a0"; } .steps code { display: block; text-indent: 0; }
.defs { position: absolute; width: 0; height: 0; }
@media (max-width: 44rem) {
  thead { display: none; } tr { display: block; border-top: 1px solid var(--line); padding: .25rem 0; }
  table, tbody, caption, td { display: block; width: 100%; }
  td { display: grid; grid-template-columns: 6.5rem 1fr; gap: .5rem; border: 0; padding: .1rem 0; text-align: left; }
  td::before { content: attr(data-name); font-size: .85rem; color: var(--text); }
  td, td::before { overflow-wrap: anywhere; } td.number { text-align: left; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; } .scroll { overflow: visible; }
  thead { display: table-header-group; } td { max-width: none; }
}
"""

TEMPLATE = """\
{%- macro table(section, caption, columns, rows) -%}
<div class="scroll" tabindex="0" role="region" aria-label="{{ section }}: {{ caption }}">
<table><caption>{{ caption }}</caption>
<thead><tr>
{%- for name in columns -%}
<th scope="col"{% if rows[0][loop.index0].is_number %} class="number"{% endif %}>{{ name }}</th>
{%- endfor -%}
</tr></thead>
<tbody>
{%- for row in rows %}
<tr>
{%- for cell in row -%}
{%- set style = (("number " if cell.is_number else "") ~ cell.tone) | trim -%}
<td data-name="{{ columns[loop.index0] }}"{% if style %} class="{{ style }}"{% endif %}>
{%- if cell.link %}<a href="{{ cell.link | urlencode }}">{{ cell.text }}</a>{% else %}{{ cell.text }}{% endif -%}
</td>
{%- endfor -%}
</tr>
{%- endfor %}
</tbody></table></div>
{%- endmacro -%}
{%- macro pictures(blocks) -%}
<div class="pictures">
{%- for each in blocks %}
<figure><h3>{{ each.title }}</h3>{{ each.svg | trusted }}<figcaption>{{ each.caption }}</figcaption></figure>
{%- endfor %}
</div>
{%- endmacro -%}
{%- macro block(section, each) -%}
{%- if each.kind == "paragraph" -%}
<p{% if each.tone %} class="{{ each.tone }}"{% endif %}>{{ each.text }}</p>
{%- elif each.kind == "table" -%}
{%- if each.shown -%}
{{ table(section, each.caption, each.columns, each.shown) }}
{%- endif -%}
{%- if each.folded -%}
{%- set title = each.caption ~ (": the other " if each.shown else ": all ") ~ each.folded | length ~ " rows" -%}
<details><summary>{{ title }}</summary>{{ table(section, title, each.columns, each.folded) }}</details>
{%- endif -%}
{%- if not each.rows -%}
<p>{{ each.caption }}: none.</p>
{%- endif -%}
{%- elif each.kind == "steps" -%}
<ul class="steps">
{%- for step in each.steps -%}
<li>{{ step.text }}{% if step.command %}<code>{{ step.command }}</code>{% endif %}</li>
{%- endfor -%}
</ul>
{%- elif each.kind == "folded" -%}
<details><summary>{{ each.title }}</summary><pre tabindex="0">{{ each.text }}</pre></details>
{%- endif -%}
{%- endmacro -%}
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src '{{ style_digest }}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{{ page.title }}</title>
<style>{{ style }}</style>
</head>
<body>
<svg class="defs" aria-hidden="true"><defs>
<pattern id="{{ hatch }}" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="3" height="8" fill="#888888"/></pattern>
</defs></svg>
<header>
<h1>{{ page.title }}</h1>
<p class="verdict {{ page.tone }}">{{ page.verdict }}</p>
<dl class="facts">{% for name, value in page.facts %}<div><dt>{{ name }}</dt><dd>{{ value }}</dd></div>{% endfor %}</dl>
</header>
<main>
{%- for section in page.sections %}
<section>
<h2>{{ section.title }}</h2>
{%- for kind, blocks in section.blocks | groupby_runs %}
{%- if kind == "picture" %}
{{ pictures(blocks[:most_pictures]) }}
{%- if blocks[most_pictures:] %}
<details><summary>{{ blocks | length - most_pictures }} more pictures</summary>
{{ pictures(blocks[most_pictures:]) }}</details>
{%- endif %}
{%- else %}
{%- for each in blocks %}
{{ block(section.title, each) }}
{%- endfor %}
{%- endif %}
{%- endfor %}
</section>
{%- endfor %}
</main>
</body>
</html>
"""


def render_html(page: Page) -> bytes:
    """Return the HTML file, in UTF-8. All texts of the page are escaped; only pictures and the style are not."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True, finalize=_with_unseen_shown
    )
    environment.filters["groupby_runs"] = _group_neighbors
    # Vega escapes the texts of a picture.
    environment.filters["trusted"] = Markup
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    html = environment.from_string(TEMPLATE).render(
        page=page, most_pictures=_MOST_PICTURES, style=Markup(STYLE), style_digest=f"sha256-{digest}", hatch=HATCH
    )
    return html.encode("utf-8", errors="replace")


def _with_unseen_shown(value: object) -> object:
    """Return a text of the page with U+FFFD for each character that nobody sees."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value


def _group_neighbors(blocks: Iterable[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Group adjacent blocks of the same kind, so that pictures can be placed side by side."""
    for kind, run in groupby(blocks, key=lambda each: each.kind):
        yield kind, list(run)
