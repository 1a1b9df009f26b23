# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Draw the logs of partitions as SVG with Vega-Lite and vl-convert, without a browser, scripts or downloads.

vl-convert is optional. Without it, a report has its tables, and says that the pictures are missing.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, NamedTuple

from .._model.log_contents import offset_range
from .._model.partition import TopicPartition
from .._recovery.groups import total_of
from .._recovery.outcome import Outcome
from .._recovery.plan import Status
from .._recovery.verdict import describe_loss
from .blocks import Block, Picture, ReportParagraph, in_words
from .extents import Extents, Saved, Stretch, compute_extents, describe_other_leader, find_leaders_loss

with suppress(ImportError):
    import vl_convert


_MAX_PICTURES = 50
_MOST_SAVED = 3
HATCH = "hatch"
"""Id of the SVG pattern for unknown offsets. The page defines it."""
_WIDTH = 300
"""Width of the plot in pixels. It fits on a phone, and larger screens scale it up."""
_ROW_HEIGHT = 26
_EPOCH_COLORS = ("#4e79a7", "#59a14f", "#b07aa1", "#9c755f", "#76b7b2", "#bab0ac", "#edc948", "#f28e2b")
_LOST = "#d62728"
NO_LEADER_HATCHED = "no leader"
FRAME = 4
"""Width of the frame around saved offsets. No other line is this thick."""
_ZIGZAG = "M-0.3,-1L0.3,-0.6L-0.3,-0.2L0.3,0.2L-0.3,0.6L0.3,1"
"""A path in a square from -1 to 1."""
_GRAY = "#888888"
_TEXT = "currentColor"
_HATCHED = {"type": "bar", "fill": f"url(#{HATCH})", "stroke": _GRAY, "strokeDash": [4, 3]}
"""The mark of what is unknown, or of no leader."""
_CONFIG = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {"labelColor": _TEXT, "titleColor": _TEXT, "domainColor": _GRAY, "tickColor": _GRAY, "grid": False},
    "legend": {"labelColor": _TEXT, "titleColor": _TEXT, "orient": "bottom"},
}

_ROLES = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')

Spec = dict[str, Any]


class IsrBar(NamedTuple):
    """What a broker was to a partition in a time, in milliseconds of POSIX time."""

    broker: str
    start_ms: int
    end_ms: int
    state: str
    """leads, in sync, or NO_LEADER_HATCHED."""


def draw_logs(
    groups: Sequence[Sequence[Outcome]], salvages: Mapping[TopicPartition, Sequence[Saved]]
) -> Iterator[Block]:
    """Draw the logs of each group: of all partitions that lose records, worst first, or else of one example."""
    if not can_draw():
        yield ReportParagraph("Pictures of the logs are missing: vl-convert-python is not installed.", "warning")
        return
    yield ReportParagraph(
        "One bar for each replica, from its log start offset (thick mark) to its log end. Colors are leader epochs. "
        "Red offsets are on this replica and not on the elected one: they are lost. A dashed line shows where two logs "
        "diverge. A hatched bar is a replica that did not answer: its offsets are unknown. Offsets in a thick frame "
        "were saved."
    )
    drawn = 0
    for place, outcomes in enumerate(groups):
        share = max(1, (_MAX_PICTURES - drawn) // (len(groups) - place))
        for outcome in sorted(outcomes, key=_least_known_loss, reverse=True)[:share]:
            logs = compute_extents(outcome, salvages.get(outcome.topic_partition, ()))
            if logs is None or drawn >= _MAX_PICTURES:
                break
            drawn += 1
            title = f"{outcome.topic}-{outcome.partition}"
            cut = f" All replicas hold the same before offset {logs.first:,}." if logs.is_cut else ""
            if logs.first:
                cut += f" The zigzag is a break: the axis begins at offset {logs.first:,}, not at 0."
            status = in_words(outcome.status.value)
            caption = f"{status}; {_describe_loss(outcome)}.{_describe_saved(logs.saved)}{cut}"
            yield Picture(title, draw_extents(logs, f"Logs of {title}: {caption}"), caption)
            if not _least_known_loss(outcome):
                break


def _describe_saved(saved: Sequence[Stretch]) -> str:
    named = [f"{offset_range(each.start, each.end, ',')} of broker {each.replica.split()[0]}" for each in saved]
    more = len(named) - _MOST_SAVED
    return (
        f" Saved: {', '.join(named[:_MOST_SAVED])}{f' and {more:,} more ranges' if more > 0 else ''}." if saved else ""
    )


def _least_known_loss(outcome: Outcome) -> int:
    loss = find_leaders_loss(outcome)
    return 0 if loss is None else loss.at_least


def _describe_loss(outcome: Outcome) -> str:
    loss = find_leaders_loss(outcome)
    other = describe_other_leader(outcome)
    if outcome.status is Status.ALREADY_ONLINE:
        lost = "no election, so none lost a record"
    elif loss is None:
        lost = "the loss is unknown"
    else:
        is_led = outcome.status is Status.RECOVERED or bool(other)
        lost = describe_loss(total_of(loss), 1, is_done=is_led)
        if not is_led:
            lost = f"if broker {loss.broker_id} is elected: {lost}"
    return "; ".join(filter(None, [other, lost]))


def can_draw() -> bool:
    """Return whether vl-convert is installed."""
    return find_spec("vl_convert") is not None


def draw_extents(extents: Extents, label: str) -> str:
    """Draw one bar per replica over offsets, colored by leader epoch: lost ones red, saved framed, unknown hatched."""
    y = _rows("replica", extents.replicas)
    last = max(extents.end, extents.first + 1)
    scale = {"domain": [extents.first, last], "nice": False, "zero": False}
    # No tick between two offsets: it would be labeled as one of them.
    axis = {"format": ",d", "tickCount": min(4, last - extents.first), "labelOverlap": True, "tickMinStep": 1}
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
        _layer(extents.unknown, _HATCHED, place),
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
        *(_break_marks(extents, x, y) if extents.first else []),
    ]
    return _svg({"height": {"step": _ROW_HEIGHT}, "layer": layers}, label)


def _break_marks(extents: Extents, x: Spec, y: Spec) -> list[Spec]:
    """Return a zigzag on the axis and, if the picture leaves out offsets, on each bar that begins before it."""
    mark = {"type": "point", "shape": _ZIGZAG, "size": 160, "color": _TEXT, "filled": False, "strokeWidth": 2}
    bars = [each for each in (*extents.held, *extents.unknown) if extents.is_cut and each.start == extents.first]
    layers: list[Spec] = [
        {
            "data": {"values": [{"start": extents.first}]},
            "mark": {**mark, "clip": False},
            "encoding": {"x": x, "y": {"value": {"expr": "height"}}},
        }
    ]
    return layers + ([_layer(bars, mark, {"x": x, "y": y})] if bars else [])


def draw_bars(bars: Sequence[Mapping[str, object]], *, value: str, by: str, title: str, label: str) -> str:
    """Draw horizontal bars: ``name`` on the y axis, with one bar for each value of ``by``."""
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


def draw_isr(bars: Sequence[IsrBar], brokers: Sequence[str], label: str) -> str:
    """Draw one row for each broker over time, in UTC: where it led, where it was in sync, and without a leader."""
    begins, ends = min(each.start_ms for each in bars), max(each.end_ms for each in bars)
    x = {
        "field": "start",
        "type": "temporal",
        "scale": {"type": "utc", "domain": [begins, ends], "nice": False},
        "title": "time, UTC",
        "axis": {
            "format": "%H:%M:%S" if ends - begins < 24 * 3_600_000 else "%d %b %H:%M",
            "tickCount": 4,
            "labelOverlap": True,
            "labelSeparation": 10,
        },
    }
    states = ["leads", "in sync"]
    color = {
        "field": "state",
        "type": "nominal",
        "title": None,
        "scale": {"domain": states, "range": list(_EPOCH_COLORS)},
    }
    place = {"x": x, "x2": {"field": "end"}, "y": _rows("broker", brokers)}
    values = [{"broker": each.broker, "start": each.start_ms, "end": each.end_ms, "state": each.state} for each in bars]
    layers: list[Spec] = [
        {
            "data": {"values": [each for each in values if each["state"] == NO_LEADER_HATCHED]},
            "mark": _HATCHED,
            "encoding": place,
        },
        {
            "data": {"values": [each for each in values if each["state"] in states]},
            "mark": {"type": "bar"},
            "encoding": {**place, "color": color},
        },
    ]
    return _svg({"height": {"step": _ROW_HEIGHT}, "layer": layers}, f"Who was in sync: {label}")


def _rows(field: str, names: Sequence[str]) -> Spec:
    """Return the axis with one row for each broker or replica, in this order."""
    return {
        "field": field,
        "type": "nominal",
        "title": "broker",
        "sort": list(names),
        "scale": {"domain": list(names)},
    }


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
    """Return the picture as SVG. ``label`` describes it for screen readers."""
    full = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "width": _WIDTH, "config": _CONFIG, **spec}
    drawn: str = vl_convert.vegalite_to_svg(json.dumps(full))
    # The picture has one label. Remove the roles that Vega adds to each mark: most have no label.
    svg = _ROLES.sub("", drawn)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(label)}" ', 1)
