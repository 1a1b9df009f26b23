# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one parser of ``sasl.jaas.config``. Standard library only.

It takes what Kafka's JaasConfig takes, which reads with Java's StreamTokenizer: two kinds of quotes with backslash
escapes, two kinds of comments, and bare words of letters, digits and ``. _ - $``. Nothing of the text is ever quoted in
an error, because it holds passwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .._model.run import KafkaOpsError

_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})
_TOKEN = re.compile(
    r"""
    (?P<blank> [\x00-\x20]+ | /\*.*?\*/ | /[^\n]* )
    | "(?P<double> (?:[^"\\\n]|\\.)* )"
    | '(?P<single> (?:[^'\\\n]|\\.)* )'
    | (?P<word> [\w.$\u00a0-\uffff-]+ )
    | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_NOTHING = ("", False)
_TOKENS_OF_AN_OPTION = 3
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasError(KafkaOpsError):
    """The text is not what Kafka accepts. The message names the option, and never its value."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One login module, and its options."""

    class_name: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def name(self) -> str:
        """The class without its package."""
        return self.class_name.rpartition(".")[2]


def parse_jaas(text: str) -> LoginModule:
    """Return the login module of ``sasl.jaas.config``, which must name exactly one.

    Raises JaasError.
    """
    tokens = [*_tokens(text)]
    if not tokens:
        raise JaasError("it names no login module")
    if tokens[-1] != (";", False):
        raise JaasError("it does not end with a semicolon")
    module, flag = [*tokens[:-1], _NOTHING, _NOTHING][:2]
    options = tokens[2:-1]
    if flag[0].lower() not in _FLAGS:
        raise JaasError("the login module is not followed by a control flag, such as required")
    if (";", False) in options:
        raise JaasError("it names several login modules, or has a semicolon that is not quoted; Kafka takes one module")
    return LoginModule(module[0], _options(options))


def _options(tokens: list[tuple[str, bool]]) -> dict[str, str]:
    options: dict[str, str] = {}
    for at in range(0, len(tokens), _TOKENS_OF_AN_OPTION):
        name, equals, value = [*tokens[at : at + _TOKENS_OF_AN_OPTION], _NOTHING, _NOTHING][:_TOKENS_OF_AN_OPTION]
        if not name[1] or equals != ("=", False) or not value[1]:
            # The next token may be a part of a password, so only the last option that was read well is named.
            after = f" after the option {[*options][-1]}" if options else " after the control flag"
            raise JaasError(f"what stands{after} is not name=value: put values between quotation marks")
        options[name[0]] = value[0]
    return options


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each token, and whether it is a word or a quoted text."""
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind == "word":
            yield found["word"], True
        elif kind in ("double", "single"):
            yield _ESCAPE.sub(_unescaped, found[kind]), True
        elif kind == "sign":
            yield found["sign"], False


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code, 8)) if code[0] in "01234567" else _CONTROL.get(code, code)
