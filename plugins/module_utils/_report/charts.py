# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Charts as SVG, from Vega-Lite specifications by vl-convert: no browser, no script, nothing loaded.

vl-convert is optional: without it a report has its tables, and says that the pictures are missing.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from .extents import Extents, Stretch

with suppress(ImportError):
    import vl_convert

HATCH = "hatch"
"""Id of the SVG pattern that the page defines for what is unknown."""
_WIDTH = 300
"""Of the plot, in pixels: a phone shows it in its full size, and a larger screen scales it up."""
_ROW_HEIGHT = 26
_EPOCH_COLORS = ("#4e79a7", "#59a14f", "#b07aa1", "#9c755f", "#76b7b2", "#bab0ac", "#edc948", "#f28e2b")
_LOST = "#d62728"
FRAME = 4
"""Width of the frame around what was saved. Nothing else is as thick."""
_GRAY = "#888888"
_TEXT = "currentColor"
_CONFIG = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {"labelColor": _TEXT, "titleColor": _TEXT, "domainColor": _GRAY, "tickColor": _GRAY, "grid": False},
    "legend": {"labelColor": _TEXT, "titleColor": _TEXT, "orient": "bottom"},
}

_ROLES = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')

Spec = dict[str, Any]


def are_available() -> bool:
    """Return whether vl-convert is installed."""
    return find_spec("vl_convert") is not None


def extents_chart(extents: Extents, label: str) -> str:
    """One bar a replica by offset, colored by leader epoch; lost offsets red, saved framed, unknown hatched."""
    y = {
        "field": "replica",
        "type": "nominal",
        "sort": list(extents.replicas),
        "title": "broker",
        "scale": {"domain": list(extents.replicas)},
    }
    scale = {"domain": [extents.first, max(extents.end, extents.first + 1)], "nice": False, "zero": False}
    axis = {"format": ",d", "tickCount": 4, "labelOverlap": True, "tickMinStep": 1}
    x = {"field": "start", "type": "quantitative", "scale": scale, "title": "offset", "axis": axis}
    place = {"x": x, "x2": {"field": "end"}, "y": y}
    epochs = sorted({each.epoch for each in extents.held if each.epoch is not None})
    names = [str(each) for each in epochs]
    color = {
        "field": "epoch",
        "type": "nominal",
        "title": "leader epoch",
        "scale": {"domain": names, "range": [_EPOCH_COLORS[index % len(_EPOCH_COLORS)] for index in range(len(names))]},
        "legend": {} if 0 < len(names) <= len(_EPOCH_COLORS) else None,
    }
    layers: list[Spec] = [
        _layer(
            extents.unknown, {"type": "bar", "fill": f"url(#{HATCH})", "stroke": _GRAY, "strokeDash": [4, 3]}, place
        ),
        _layer(extents.held, {"type": "bar"}, {**place, "color": color}),
        _layer(
            extents.lost, {"type": "bar", "fill": _LOST, "fillOpacity": 0.55, "stroke": _LOST, "strokeWidth": 2}, place
        ),
        _layer(extents.saved, {"type": "bar", "fill": None, "stroke": _TEXT, "strokeWidth": FRAME}, place),
        _layer(
            extents.starts, {"type": "tick", "color": _TEXT, "thickness": 3, "size": _ROW_HEIGHT - 8}, {"x": x, "y": y}
        ),
        {
            "data": {"values": [{"start": each} for each in extents.divergences]},
            "mark": {"type": "rule", "color": _LOST, "strokeDash": [5, 3], "strokeWidth": 2},
            "encoding": {"x": x},
        },
    ]
    return _svg({"height": {"step": _ROW_HEIGHT}, "layer": layers}, label)


def bar_chart(bars: Sequence[Mapping[str, object]], *, value: str, by: str, title: str, label: str) -> str:
    """Horizontal bars: ``name`` on the y axis, one bar for each ``by`` beside each other."""
    names = list(dict.fromkeys(str(each["name"]) for each in bars))
    kinds = list(dict.fromkeys(str(each[by]) for each in bars))
    spec: Spec = {
        "height": {"step": _ROW_HEIGHT / 2},
        "data": {"values": [dict(each) for each in bars]},
        "mark": {"type": "bar"},
        "encoding": {
            "x": {
                "field": value,
                "type": "quantitative",
                "title": title,
                "axis": {"format": ",d", "tickMinStep": 1, "tickCount": 4},
            },
            "y": {"field": "name", "type": "nominal", "sort": names, "title": None},
            "yOffset": {"field": by, "sort": kinds},
            "color": {
                "field": by,
                "type": "nominal",
                "title": None,
                "sort": kinds,
                "scale": {"range": list(_EPOCH_COLORS)},
            },
        },
    }
    return _svg(spec, label)


def _layer(stretches: Sequence[Stretch], mark: Spec, encoding: Spec) -> Spec:
    values = [
        {
            "replica": each.replica,
            "start": each.start,
            "end": each.end,
            "epoch": "" if each.epoch is None else str(each.epoch),
        }
        for each in stretches
    ]
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


def _svg(spec: Spec, label: str) -> str:
    """Return the picture, whose meaning ``label`` says to whoever does not see it."""
    full = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "width": _WIDTH, "config": _CONFIG, **spec}
    drawn: str = vl_convert.vegalite_to_svg(json.dumps(full))
    # The picture has one label. Vega's roles for each mark, most of them without a label, would only be noise.
    svg = _ROLES.sub("", drawn)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(label)}" ', 1)
