# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""AWX surveys, generated from the roles' argument specs: ``python -m publish.surveys`` writes ``FILE``."""

from __future__ import annotations

import re
from typing import Any

import yaml

from publish.artifact import PROJECT

FILE = PROJECT / "extensions" / "awx" / "vars" / "surveys.yml"

# For each survey, the role and the variables that a person may set in AWX. Other variables keep their defaults.
ASKED = {
    "look": ("unclean_recovery", ["include_internal_topics"]),
    "plan": (
        "unclean_recovery",
        [
            "strategy",
            "lost_brokers",
            "max_lost_records",
            "allow_empty_leader",
            "include_internal_topics",
            "acknowledge_unclean_leader_election",
        ],
    ),
    "drain": ("leadership_drain", ["brokers", "elect_preferred", "max_moves"]),
    "restore": ("leadership_drain", ["elect_preferred", "max_moves"]),
    "cleaners": (
        "log_cleaner_recovery",
        ["metrics_source", "metrics_url", "repair_uncleanable", "throttle_bytes_per_second"],
    ),
    "quorum": ("quorum_preflight", ["window_ms", "fail_on"]),
    "readiness": ("readiness", ["fail_on", "certificate_days"]),
    "recorder": ("cluster_recorder", ["dir", "keep_hours", "scope"]),
    "exposure": ("exposure_report", ["recordings", "clusters", "from", "to", "report_html"]),
    "redundancy": (
        "redundancy",
        ["lost_brokers", "all_under_replicated", "throttle_bytes_per_second", "automated_recovery"],
    ),
    "groups": (
        "group_recovery",
        [
            "salvage_dir",
            "groups",
            "beyond_end_time",
            "overwrite_groups",
            "automated_recovery",
            "abort_hanging_transactions",
            "undo_file",
        ],
    ),
    "stop": ("stop_gate", ["brokers", "racks"]),
    # These run on a broker's host, which reads client.properties there and not from the credential.
    "salvage": ("log_salvage", ["log_dirs", "dir", "topics", "kafka_command_config"]),
    "replay": ("salvage_replay", ["dir", "target", "topics", "include_unknown", "kafka_command_config"]),
}
# Variables that are required in one survey, although they are optional in the role.
_REQUIRED = {("drain", "brokers"), ("salvage", "kafka_command_config"), ("replay", "kafka_command_config")}

_TYPES = {"int": "integer", "float": "float"}
_MARKUP = re.compile(r"\b[A-Z]\(([^()]*(?:\([^()]*\))?[^()]*)\)")
_OF_A_PLUGIN = re.compile(r"[\w.]+#(?:role:\w+|module):")
"""How an option of another role or module is named."""
_LARGEST = 2**31 - 1
_HEADER = """\
---
# Written by `make surveys` from the argument specs of the roles. Change those, or tests/publish/surveys.py.
"""


class _Indented(yaml.SafeDumper):
    """Indents the items of a list, as yamllint wants."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


class _OnOneLine(list[str]):
    """A list of short texts."""


_Indented.add_representer(
    _OnOneLine, lambda dumper, texts: dumper.represent_sequence("tag:yaml.org,2002:seq", texts, flow_style=True)
)


def render() -> str:
    """Return the content of ``FILE``."""
    surveys = {name: _survey(name, role, variables) for name, (role, variables) in ASKED.items()}
    text: str = yaml.dump({"kafka_recovery_surveys": surveys}, Dumper=_Indented, sort_keys=False, width=140)
    return _HEADER + text


def _survey(name: str, role: str, variables: list[str]) -> dict[str, Any]:
    specs = _argument_specs(role)
    options = specs["options"] | _argument_specs("kafka_connection")["options"]
    questions = []
    for each in variables:
        variable = each if each.startswith("kafka_") else f"{role}_{each}"
        option = options[variable]
        required = option.get("required", False) or (name, each) in _REQUIRED
        questions.append(_question(variable, option, required=required))
    return {"name": name, "description": _plain(specs["short_description"]), "spec": questions}


def _argument_specs(role: str) -> dict[str, Any]:
    specs = PROJECT / "roles" / role / "meta" / "argument_specs.yml"
    described: dict[str, Any] = yaml.safe_load(specs.read_text(encoding="utf-8"))["argument_specs"]["variables"]
    return described


def _question(variable: str, option: dict[str, Any], *, required: bool) -> dict[str, Any]:
    kind = option["type"]
    choices = ["true", "false"] if kind == "bool" else option.get("choices")
    default = option.get("default", "")
    if kind == "bool":
        default = str(default).lower()
    elif isinstance(default, list):
        # AWX refuses a default of another type than its question's.
        default = ",".join(map(str, default))
    question: dict[str, Any] = {
        "question_name": variable,
        # Only the first sentences: a form has no space for more.
        "question_description": _plain(option["description"][0]),
        "variable": variable,
        "type": "multiplechoice" if choices else _TYPES.get(kind, "text"),
        "required": required,
        "default": default,
    }
    if choices:
        question["choices"] = _OnOneLine(choices)
    if question["type"] in _TYPES.values():
        question |= {"min": 0, "max": _LARGEST}
    return question


def _plain(text: str) -> str:
    """Return a text without Ansible's markup, which AWX does not know."""
    return _OF_A_PLUGIN.sub("", _MARKUP.sub(r"\1", text))


if __name__ == "__main__":
    FILE.write_text(render(), encoding="utf-8")
