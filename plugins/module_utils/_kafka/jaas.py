# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parse login modules: ``sasl.jaas.config``, or the section KafkaClient of the JAAS file that KAFKA_OPTS names.

Both are read like Java does with its StreamTokenizer: two kinds of quotes with backslash escapes, two kinds of
comments, and unquoted words of letters, digits and ``. _ - $``. No error quotes a value: it may be a password.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .._model.run import KafkaOpsError
from .errors import describe_unreadable

_SECTION = "KafkaClient"
_JAAS_FILE = "-Djava.security.auth.login.config="
_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})
_TOKEN = re.compile(
    r"""
    (?P<blank> [\x00-\x20]+ | /\*.*?\*/ | /[^\n]* )
    | "(?P<double> (?:[^"\\\n]|\\.)* )"
    | '(?P<single> (?:[^'\\\n]|\\.)* )'
    | (?P<word> [\w.$\u00a0-\U0010ffff-]+ )
    | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_NOTHING = ("", False)
_OPEN, _CLOSE = [("{", False)], ("}", False)
_TOKENS_OF_AN_OPTION = 3
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasError(KafkaOpsError):
    """Kafka would not accept the text. The message has the option's name, and never its value."""


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
    """Parse ``sasl.jaas.config``, which must have exactly one login module.

    Raises JaasError.
    """
    return _parse_module([*_tokenize(text)])


def read_kafka_opts(environment: Mapping[str, str]) -> LoginModule | None:
    """Return the login module that Kafka's tools use here without ``sasl.jaas.config``; None if KAFKA_OPTS names none.

    Raises JaasError, which begins with the path of the file.
    """
    path = _jaas_file(environment)
    if path is None:
        return None
    try:
        tokens = [*_tokenize(Path(path).read_text(encoding="utf-8"))]
    except OSError as error:
        raise JaasError(f"{path}, the JAAS file in KAFKA_OPTS, {describe_unreadable(error)}") from None
    except ValueError:
        raise JaasError(f"{path}, the JAAS file in KAFKA_OPTS, is not UTF-8 text") from None
    begin = [
        place for place, each in enumerate(tokens) if each == (_SECTION, True) and tokens[place + 1 :][:1] == _OPEN
    ]
    if not begin:
        raise JaasError(f"{path}, the JAAS file in KAFKA_OPTS, has no section {_SECTION}")
    section = tokens[begin[0] + 2 :]
    end = section.index(_CLOSE) if _CLOSE in section else len(section)
    try:
        module = _parse_module(section[:end])
    except JaasError as error:
        raise JaasError(f"{path}, the JAAS file in KAFKA_OPTS: {error}") from None
    expanded = [name for name, value in module.options.items() if "${" in value]
    if expanded:
        names = ", ".join(expanded)
        raise JaasError(f"{path}, the JAAS file in KAFKA_OPTS: {names} refers to a system property: write its value")
    return module


def _jaas_file(environment: Mapping[str, str]) -> str | None:
    words: list[str] = []
    with suppress(ValueError):  # Java could not start with such options either
        words = shlex.split(environment.get("KAFKA_OPTS", ""))
    found = [each.removeprefix(_JAAS_FILE) for each in words if each.startswith(_JAAS_FILE)]
    # Java takes the last one. Two equals signs mean: this file, and no other.
    return found[-1].removeprefix("=").removeprefix("file:") if found else None


def _parse_module(tokens: Sequence[tuple[str, bool]]) -> LoginModule:
    if not tokens:
        raise JaasError("it names no login module")
    if tokens[-1] != (";", False):
        raise JaasError(
            "it does not end with a semicolon: end it with ; and each of its lines but the last one with \\"
        )
    module, flag = [*tokens[:-1], _NOTHING, _NOTHING][:2]
    options = [*tokens[2:-1]]
    if flag[0].lower() not in _FLAGS:
        raise JaasError("the login module is not followed by a control flag, such as required")
    if (";", False) in options:
        raise JaasError("it names several login modules, or has a semicolon that is not quoted; Kafka takes one module")
    return LoginModule(module[0], _parse_options(options))


def _parse_options(tokens: list[tuple[str, bool]]) -> dict[str, str]:
    options: dict[str, str] = {}
    for at in range(0, len(tokens), _TOKENS_OF_AN_OPTION):
        name, equals, value = [*tokens[at : at + _TOKENS_OF_AN_OPTION], _NOTHING, _NOTHING][:_TOKENS_OF_AN_OPTION]
        if not name[1] or equals != ("=", False) or not value[1]:
            # The next token may be part of a password, so the message has only the last valid option.
            after = f" after the option {[*options][-1]}" if options else " after the control flag"
            raise JaasError(f"the text{after} is not name=value: put values between quotation marks")
        options[name[0]] = value[0]
    return options


def _tokenize(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each token, and whether it is a word or quoted text."""
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind == "word":
            yield found["word"], True
        elif kind in ("double", "single"):
            yield _ESCAPE.sub(_unescape, found[kind]), True
        elif kind == "sign":
            yield found["sign"], False


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code, 8)) if code[0] in "01234567" else _CONTROL.get(code, code)
