# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""sasl.jaas.config: read as Java's StreamTokenizer reads it, and never quoted back."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.jaas import JaasError, parse_jaas

SECRET = "t0ps3cret"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a.b.C required;", {}),
        ("a.b.C Required x=y z = 'a b' ;", {"x": "y", "z": "a b"}),
        ('a.b.C required x="a;b" y="c=\'d\'";', {"x": "a;b", "y": "c='d'"}),
        ("a.b.C required x='it\\'s' y=\"\";", {"x": "it's", "y": ""}),
        (r'a.b.C required x="a\tb\101\\c\d";', {"x": "a\tbA\\cd"}),
        ("a.b.C required // x=1\n x=two /* x='three' */;", {"x": "two"}),
        # Java also reads one slash as the beginning of a comment.
        ("a.b.C required x=one/two\n;", {"x": "one"}),
        (
            "a.b.C required unsecuredLoginStringClaim_sub=lab x=a-b$c.d;",
            {"unsecuredLoginStringClaim_sub": "lab", "x": "a-b$c.d"},
        ),
        ('a.b.C required "user_bob"="x" é=ü;', {"user_bob": "x", "é": "ü"}),
    ],
)
def test_options_are_read(text: str, options: dict[str, str]) -> None:
    module = parse_jaas(text)
    assert (module.class_name, module.name, module.options) == ("a.b.C", "C", options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no login module"),
        (";", "control flag"),
        ("a.b.C;", "control flag"),
        (f"a.b.C required password={SECRET}", "does not end with a semicolon"),
        (f'a.b.C password="{SECRET}";', "control flag"),
        (f"a.b.C required username=u password={SECRET}@x;", "after the option password"),
        (f"a.b.C required password=@{SECRET};", "after the control flag"),
        ("a.b.C required password=;", "after the control flag"),
        (f"a.b.C required; a.b.C required password={SECRET};", "several login modules"),
        (f'a.b.C required password="{SECRET};', "after the control flag"),
    ],
)
def test_property_that_kafka_refuses_is_refused_without_a_secret(text: str, message: str) -> None:
    with pytest.raises(JaasError, match=message) as caught:
        parse_jaas(text)
    assert SECRET not in str(caught.value)


def test_a_module_shows_no_option() -> None:
    assert SECRET not in repr(parse_jaas(f"a.b.C required password={SECRET};"))


def test_an_unquoted_word_may_have_any_letter() -> None:
    assert parse_jaas("a.B required password=x\U0001f600y;").options == {"password": "x\U0001f600y"}
