# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""For any bytes, the reader returns a value or refuses them with reasons."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents import strict_json
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import (
    MAX_PROBLEMS,
    SHOWN_PROBLEMS,
    DocumentError,
    Problem,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import format_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.partitions_file import check_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.strict_json import MAX_DEPTH, parse_json
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import plan_document
from unit.documents.examples import a_plan


def parsed(data: bytes) -> Any:
    return parse_json(data, "some.json", lambda value: ())


def refused(data: bytes) -> DocumentError:
    with pytest.raises(DocumentError) as error:
        parsed(data)
    return error.value


def assert_value_or_refusal(data: bytes) -> None:
    try:
        value = parsed(data)
    except DocumentError as error:
        refusal = error
    else:
        assert json.loads(json.dumps(value, allow_nan=False)) == value
        return
    assert refusal.problems
    # It can be printed anywhere, without control characters for a terminal.
    assert "\x1b" not in str(refusal).encode().decode()


@given(st.binary())
@example(b'"\\')
@example(b"\xef\xbb\xbf")
@example(b"\xef\xbb\xbf\xef\xbb\xbf[]")
@example(b'{"\\ud800\x1b[31m": NaN}')
@example(b"-" + b"1" * 5000)
@example(b"\x00[")
def test_any_bytes(data: bytes) -> None:
    assert_value_or_refusal(data)


@given(st.lists(st.sampled_from(b'[]{}",:\\ \n019.-eENatrufl\xff\xc3\xa9\x00\x1b'), max_size=60).map(bytes))
def test_any_bytes_that_look_like_json(data: bytes) -> None:
    assert_value_or_refusal(data)


@given(st.integers(0), st.integers(0), st.binary(max_size=4))
def test_any_mix_of_a_real_file_is_read_or_refused(start: int, length: int, data: bytes) -> None:
    whole = format_document(plan_document(a_plan()))
    start %= len(whole)
    assert_value_or_refusal(whole[:start] + data + whole[start + length % 64 :])


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(_values, st.booleans(), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_any_json_is_read_as_it_is(value: Any, ascii_only: bool, encoding: str) -> None:
    assert parsed(json.dumps(value, ensure_ascii=ascii_only).encode(encoding, "surrogatepass")) == value


def test_depth_limit() -> None:
    assert parsed(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert (
        refused(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)).problems[0].place == f"line 1, column {MAX_DEPTH + 1}"
    )
    assert refused(b'{"a":' * 100_000).problems[0].place == f"line 1, column {5 * MAX_DEPTH + 1}"


def test_brackets_in_strings_do_not_count_as_levels() -> None:
    text = "[{" * MAX_DEPTH + '"\\'
    assert parsed(json.dumps([text, text]).encode()) == [text, text]


@pytest.mark.parametrize(
    "data", [b'"a",' * 2_000_000, b'"' * 8_000_000, b'"' + b'\\"' * 4_000_000, b"[" + b'"\\u0041",' * 800_000]
)
def test_the_depth_is_found_in_linear_time(data: bytes) -> None:
    """With quadratic time, 8 MB would take days."""
    start = time.monotonic()
    refused(data)
    assert time.monotonic() - start < 60


def test_duplicate_keys_at_any_depth() -> None:
    error = refused(b'{"a/b": 1, "a/b": {"~": [{"x": 1, "x": 2}]}, "c": 3, "c": 3}')
    assert [problem.place for problem in error.problems] == ["/a~1b", "/c", "/a~1b/~0/0/x"]


def test_numbers_that_json_does_not_have() -> None:
    error = refused(b"[NaN, -Infinity, 1e400, " + b"1" * 41 + b", 1]")
    assert [problem.place for problem in error.problems] == ["/0", "/1", "/2", "/3"]
    assert parsed(b"1" * 40) == int("1" * 40)


def test_problems_of_the_check_come_with_those_of_the_text() -> None:
    def check(value: Any) -> Iterator[Problem]:
        yield Problem("/0", "is not a thing", "Make it one")
        yield Problem("/1", f"is {value[1]}", "Make it two")

    with pytest.raises(DocumentError) as error:
        parse_json(b"[NaN, 1]", "some.json", check)
    assert [problem.message for problem in error.value.problems] == ["NaN is not a JSON value", "is 1"]


def test_check_gets_the_valid_part_of_the_value() -> None:
    seen: list[Any] = []

    def check(value: Any) -> tuple[Problem, ...]:
        seen.append(value)
        return ()

    with pytest.raises(DocumentError):
        parse_json(b'["caf\xe9\xe8", Infinity]', "some.json", check)
    assert seen == [["caf\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}", math.inf]]


def test_many_problems_are_counted_and_not_all_shown() -> None:
    message = str(refused(b"[" + b"NaN," * 29 + b"NaN]"))
    assert message.startswith("some.json is refused: 30 problems\n  /0: NaN")
    assert message.endswith("\n  and 10 more")
    assert len(message.splitlines()) == SHOWN_PROBLEMS + 2


@pytest.mark.parametrize("data", [b"[" + b"NaN," * 99_999 + b"NaN]", b'["' + b"\xff," * 99_999 + b'"]'])
def test_search_for_problems_stops_at_the_limit(data: bytes) -> None:
    error = refused(data)
    assert len(error.problems) == MAX_PROBLEMS
    assert f"at least {MAX_PROBLEMS} problems" in str(error)
    assert str(error).endswith(f"and at least {MAX_PROBLEMS - SHOWN_PROBLEMS} more")


def test_search_for_schema_problems_stops_at_the_limit() -> None:
    with pytest.raises(DocumentError) as error:
        check_partitions([{"partitons": 1, "topic": -3.5}] * 1_000_000)
    assert len(error.value.problems) == MAX_PROBLEMS
    with pytest.raises(DocumentError) as error:
        check_partitions([{f"k{number}": 1 for number in range(1_000_000)}])
    assert len(error.value.problems) == MAX_PROBLEMS


def test_message_stays_short_whatever_it_is_about() -> None:
    key = "k" * 100_000
    assert len(str(refused(json.dumps({key: {key: 1}}).replace("1", "NaN").encode()))) < 1000


_NOISE = st.text(alphabet='[]{}"\\x', max_size=6)
_VALUES = st.recursive(
    _NOISE | st.integers(), lambda each: st.lists(each) | st.dictionaries(_NOISE, each), max_leaves=9
)


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


@given(_VALUES, st.integers(MAX_DEPTH - 5, MAX_DEPTH + 3), st.integers(1, 9), st.booleans())
def test_depth_counts_brackets_outside_strings(value: Any, more: int, chunk: int, is_list: bool) -> None:
    """Strings with brackets, quotes and backslashes do not change the depth, wherever the text is divided."""
    for _level in range(more):
        value = ["]", value, "["] if is_list else {"}": value}
    data = json.dumps(value).encode()
    assert strict_json._is_shallow(data, chunk) == (_depth(value) <= MAX_DEPTH)
    assert (strict_json._find_depth_problem(data.decode()) is None) == (_depth(value) <= MAX_DEPTH)
