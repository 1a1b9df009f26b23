# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check the variables of a role against its argument specs, and convert them to the types there.

A variable of ``-e name=value`` is a string, and Jinja takes ``"false"`` for true. So a role never reads its variables
itself: it reads what this file returns, and no option depends on how it was typed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ansible.module_utils.common.validation import check_type_bool, check_type_dict, check_type_int

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import (
    SUBOPTIONS,
    SparkOptionsError,
    has_password,
    is_uri,
    parse_spark_options,
)

Spec = Mapping[str, Any]
Paths = Callable[[str], str]

_ANY_NEAR = 0.6
_A_SLIP = 0.85
"""How much alike a variable and an option are, if the variable is surely the option with a slip."""
_MOST_OF_A_VALUE = 80
_GREATEST = 10**15
_GREATEST_ID = 2**31 - 1
"""Every list of whole numbers has ids of brokers or controllers."""
_LONGEST_MS = 2**31 - 1
"""As in Kafka's own configs. No timer takes many times more."""
_NUMBERS = re.compile(r"(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,6}))?")
_QUOTED = re.compile(r"(['\"])(.*)\1")
"""As Python writes a list: ['a', 'b'] is what Jinja makes of one within a longer text."""
_BROKERS, _FOLLOWS, _CONTROLLER = "leadership_drain_brokers", "leadership_drain_active_controller", "controller"
_ALL_IF_LEFT_OUT = frozenset(
    {
        *("exposure_report_clusters", "leadership_drain_brokers", "leadership_drain_topics"),
        "log_cleaner_recovery_brokers",
    }
)
"""Lists whose module takes an empty list for all. Where a module knows "not given", it refuses an empty list itself."""
_SPARK = "_spark"
_OF_SPARK: Spec = {"options": {name: {"type": "dict" if name == "conf" else "str"} for name in SUBOPTIONS}}
"""Its paths are on other hosts."""
_ADDRESSES = ("kafka_bootstrap_servers", "kafka_bootstrap_controllers")
_BETWEEN = re.compile(r"[\s,;]+")
_BOOLEANS = {True: {"on", "yes", "true"}, False: {"off", "no", "false"}}


class VariablesError(Exception):
    """The variables of a role are wrong. The message names each problem."""


def checked(options: Mapping[str, Spec], given: Mapping[str, object], path: Paths) -> dict[str, Any]:
    """Return the value of each option that is given or has a default, in the type of its spec.

    An empty variable counts as not given: AWX sends an unanswered survey question as an empty string. An empty list is
    given: it was computed, or is ``$A,$B`` of two variables of the shell that are not set, and never means all.

    Args:
        options: the options of the role's argument specs, by the names of the variables.
        given: the values of variables.
        path: returns the absolute path of a path as the user typed it.

    Raises VariablesError with every problem.
    """
    problems: list[str] = []
    values = dict(_checked(options, _with_controller(given), path, problems))
    if problems:
        raise VariablesError("; ".join(problems))
    return values


def _with_controller(given: Mapping[str, object]) -> Mapping[str, object]:
    """Return the values with the word ``controller`` in a list of drained brokers as the option that it stands for.

    A list from which brokers are removed has no such word: without its other items, it would be that of all brokers.
    """
    brokers = given.get(_BROKERS)
    if not brokers or given.get("leadership_drain_state") == "absent":
        return given
    try:
        items = _items(brokers, {"type": "int"})
    except (TypeError, ValueError):
        return given  # the check of the option names what is wrong
    others = [each for each in items if str(each).strip().lower() != _CONTROLLER]
    if len(others) == len(items):
        return given
    return {**given, _BROKERS: others or None, _FOLLOWS: True}


def _checked(
    options: Mapping[str, Spec], given: Mapping[str, object], path: Paths, problems: list[str]
) -> Iterator[tuple[str, Any]]:
    for name, spec in options.items():
        value = given.get(name)
        if value is None or value == "":
            value = spec.get("default")
        if not spec.get("no_log") and (has_password(str(value)) or (name in _ADDRESSES and "@" in str(value))):
            problems.append(
                f"{name} has an address or a URL with a password, which results and reports would show: take it out"
            )
            continue
        if value is None:
            if spec.get("required"):
                problems.append(f"{name} is required")
            continue
        # A setting of Spark may be a secret by mistake, so a message does not show the value.
        says_where = spec["type"] == "dict" and name.endswith(_SPARK)
        try:
            converted = _converted(value, {**spec, **_OF_SPARK} if says_where else spec, path)
            if says_where:
                parse_spark_options(converted)
            if name.endswith("_ms") and converted > _LONGEST_MS:
                raise ValueError(f"is too long: the longest time is {_LONGEST_MS} ms")
            if name in _ALL_IF_LEFT_OUT and not converted:
                raise ValueError("is an empty list, which would mean all: leave it out if you want all")
            yield name, converted
        except (TypeError, ValueError, SparkOptionsError) as error:
            shown = "" if spec.get("no_log") or says_where else f" {_short(value)}"
            problems.append(f"{name}:{shown} {error}")


def _converted(value: Any, spec: Spec, path: Paths) -> Any:
    """Return a value in the type of its spec. Raises TypeError or ValueError, whose text follows the value."""
    converted = _CONVERTERS[spec["type"]](value, spec, path)
    choices = spec.get("choices")
    if choices and converted not in choices:
        by_word = {str(each).lower(): str(each) for each in choices}
        near = get_close_matches(str(converted).lower(), by_word, 1, _ANY_NEAR)
        hint = f"; did you mean {by_word[near[0]]}?" if near else ""
        raise ValueError(f"is not one of {', '.join(map(str, choices))}{hint}")
    return converted


def _str(value: Any, spec: Spec, _path: Paths) -> str:
    # YAML takes off and yes for booleans, unless they are quoted.
    if isinstance(value, bool) and spec.get("choices"):
        meant = _BOOLEANS[value].intersection(spec["choices"])
        return meant.pop() if meant else str(value)
    if value is None or isinstance(value, (bool, Mapping, list)):
        raise TypeError(f"is not a string{': quote it' if isinstance(value, bool) else ''}")
    return str(value)


def _int(value: Any, _spec: Spec, _path: Paths) -> int:
    # As a whole number, 1e999999999 would take hours to write down.
    _refuse_beyond_limits(_number(value, "is not a whole number"))
    try:
        return int(check_type_int(value.strip() if isinstance(value, str) else value))
    except (TypeError, ValueError):
        raise TypeError("is not a whole number") from None


def _float(value: Any, _spec: Spec, _path: Paths) -> float:
    _refuse_beyond_limits(_number(value, "is not a number"))
    return float(value)


def _number(value: Any, refusal: str) -> float:
    """Return a number as a float. Raises TypeError if it is none."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise TypeError(refusal)
    return number


def _refuse_beyond_limits(number: float) -> None:
    """Raise ValueError for a number that no variable takes: all are counts, sizes, times or ids."""
    if number > _GREATEST:
        raise ValueError(f"is too large: the greatest number is {_GREATEST}")
    if number < 0:
        raise ValueError("is below 0")


def _bool(value: Any, _spec: Spec, _path: Paths) -> bool:
    try:
        return bool(check_type_bool(value.strip() if isinstance(value, str) else value))
    except (TypeError, ValueError):
        raise TypeError("is neither true nor false (yes, no, on, off, 1 and 0 are read too)") from None


def _path(value: Any, spec: Spec, path: Paths) -> str:
    text = _str(value, spec, path)
    return text if is_uri(text) else path(text)


def _dict(value: Any, spec: Spec, path: Paths) -> dict[str, Any]:
    try:
        entries = dict(value) if isinstance(value, Mapping) else check_type_dict(value)
    except (TypeError, ValueError):
        raise TypeError('is not a dictionary, such as {"key": "value"} or key=value') from None
    suboptions = spec.get("options")
    if not suboptions:
        return entries
    problems = [f"{name} is no key of it" for name in entries if name not in suboptions]
    values = dict(_checked(suboptions, entries, path, problems))
    if problems:
        raise ValueError("; ".join(problems))
    return values


def _list(value: Any, spec: Spec, path: Paths) -> list[Any]:
    element = {**spec, "type": spec.get("elements", "raw")}
    element.pop("default", None)
    values = [_converted(each, element, path) for each in _items(value, element)]
    if element["type"] == "int" and any(each > _GREATEST_ID for each in values):
        raise ValueError(f"has a number that is no id of a node: the greatest one is {_GREATEST_ID}")
    return values


def _items(value: Any, element: Spec) -> Sequence[Any]:
    """Return the items of a list: ``1,2``, ``[1, 2]`` as a string or as a list, or one item alone.

    Spaces separate numbers and partitions, too. A name may contain one.
    """
    if isinstance(value, str):
        text = value.strip()
        if text[:1] in ("[", "{"):
            try:
                value = json.loads(text)
            except ValueError:
                if element["type"] == "dict" and ("{" in text or not _names_partitions(element)):
                    raise TypeError("is no JSON: quote it as a whole for the shell, '[...]'") from None
                value = _within_brackets(text)
        if isinstance(value, str):
            if element["type"] == "int":
                return [*_whole_numbers(value)]
            names = (_QUOTED.sub(r"\2", each.strip()) for each in value.split(","))
            return _partitions(value) if _names_partitions(element) else [each for each in names if each]
    if isinstance(value, Mapping) or not isinstance(value, Sequence):
        return [value]
    if _names_partitions(element):
        return [each for item in value for each in (_partitions(item) if isinstance(item, str) else [item])]
    return value


def _within_brackets(text: str) -> str:
    """Return what is within the brackets around a whole list. Those of an IPv6 address in it stay."""
    depth = 0
    for number, each in enumerate(text, 1):
        depth += (each == "[") - (each == "]")
        if depth == 0:
            return text[1:-1] if each == "]" and number == len(text) else text
    return text.lstrip("[")


def _whole_numbers(text: str) -> Iterator[str | int]:
    """Yield the numbers of ``1,2`` or ``1-3``. A word that is no number is yielded as it is."""
    for quoted in filter(None, _BETWEEN.split(text)):
        word = _QUOTED.sub(r"\2", quoted)
        yield from _numbers(word) if _NUMBERS.fullmatch(word) else [word]


def _names_partitions(element: Spec) -> bool:
    return bool(element["type"] == "dict" and {"topic", "partitions"} <= element.get("options", {}).keys())


def _partitions(text: str) -> list[dict[str, Any]]:
    """Return the entries of ``orders:0,3,payments``, which are two partitions and a whole topic. Raises ValueError."""
    entries: list[dict[str, Any]] = []
    for quoted in filter(None, _BETWEEN.split(text)):
        word = _QUOTED.sub(r"\2", quoted)
        topic, colon, numbers = word.rpartition(":")
        if colon:
            entries.append({"topic": topic, "partitions": [*_numbers(numbers)]})
        elif not _NUMBERS.fullmatch(word):
            entries.append({"topic": word})
        elif entries and "partitions" in entries[-1]:
            entries[-1]["partitions"] += _numbers(word)
        else:
            topic = entries[-1]["topic"] if entries else "TOPIC"
            raise ValueError(f"has the number {word} without a topic: write {topic}:{word}")
    return entries


def _numbers(text: str) -> Iterator[int]:
    """Yield the numbers of ``3`` or ``0-3``. Raises ValueError."""
    match = _NUMBERS.fullmatch(text)
    if not match:
        raise ValueError(f"has {text!r} in place of a partition: orders:0,3 are two partitions, orders:0-3 are four")
    first, last = int(match["first"]), int(match["last"] or match["first"])
    if last < first:
        raise ValueError(f"has {text}, which ends before it begins")
    yield from range(first, last + 1)


def _raw(value: Any, _spec: Spec, _path: Paths) -> Any:
    return value


_CONVERTERS: Mapping[str, Callable[[Any, Spec, Paths], Any]] = {
    "str": _str,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "path": _path,
    "list": _list,
    "dict": _dict,
    "raw": _raw,
}


def unknown(
    prefix: str, known: Collection[str], variables: Mapping[str, object], typed: Collection[str]
) -> Iterator[str]:
    """Return a line for each variable with this prefix that is no option, with the option of the nearest name.

    A user's own variables may begin with a common word such as ``kafka_`` or ``readiness_``: there, only variables that
    are typed for this run are refused, and those that are an option with a slip; of ``kafka_`` only those that are
    both. A result that a play registered is no variable of a role.

    Args:
        prefix: such as ``unclean_recovery_``.
        known: the names that have a meaning.
        variables: all variables of the host.
        typed: the names of the variables that the command line sets.
    """
    is_common = "_" not in prefix.rstrip("_")
    # The prefix is the same, so it says nothing about what is near.
    short = {each.removeprefix(prefix): each for each in known}
    for name in sorted(each for each in variables if each.startswith(prefix)):
        if name in known or _is_registered(variables[name]):
            continue
        near = get_close_matches(name.removeprefix(prefix), short, 1, _ANY_NEAR)
        is_slip = bool(get_close_matches(name.removeprefix(prefix), short, 1, _A_SLIP))
        is_ours = name in typed and is_slip if prefix == "kafka_" else name in typed or is_slip
        if is_ours or not is_common:
            hint = f": did you mean {short[near[0]]}?" if near else ""
            yield f"{name} is no variable of this collection{hint}"


def with_slips(
    role: str,
    options: Collection[str],
    variables: Mapping[str, object],
    typed: Collection[str],
    is_known: Callable[[str], bool],
) -> Iterator[str]:
    """Return a line for each variable that is an option of the role with a slip in its prefix.

    Of the variables that are typed for this run, also for those that are an option with any slip. A name that an
    option's value refers to is a variable of the user's own.

    Args:
        role: the name of the role.
        options: the names of the role's options.
        variables: all variables of the host, as they are before they are evaluated.
        typed: the names of the variables that the command line sets.
        is_known: returns whether a name has a meaning elsewhere, such as for another role.
    """
    short = tuple(each.removeprefix(role) for each in options)
    for name in sorted(each for each in variables if each in typed or each.endswith(short)):
        near = get_close_matches(name.lower(), options, 1, _A_SLIP)
        if (
            near
            and (name in typed or _is_slip_in_prefix(name, near[0], role))
            and not is_known(name)
            and not any(name in str(variables.get(each, "")) for each in options)
        ):
            yield f"{name} is no variable of this collection: did you mean {near[0]}?"


def _is_slip_in_prefix(name: str, option: str, role: str) -> bool:
    """Return whether a name begins almost like the option. One that has more or fewer words is the user's own."""
    prefix = name.removesuffix(option.removeprefix(role))
    return abs(len(prefix) - len(role)) <= 1 and bool(get_close_matches(prefix.lower(), [role], 1, _A_SLIP))


def _is_registered(value: object) -> bool:
    return isinstance(value, Mapping) and bool({"changed", "failed", "skipped"} & value.keys())


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _MOST_OF_A_VALUE else f"{text[:_MOST_OF_A_VALUE]}..."
