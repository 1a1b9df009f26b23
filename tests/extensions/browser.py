# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Debian's headless Chromium without network, over its debugging pipe, and axe-core of PyPI."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

PROJECT = Path(__file__).resolve().parents[2]
_PROGRAM = "chromium"
_AXE = "axe-core-python==0.1.0"
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
_FIRST_FREE = 10
"""Chromium reads from descriptor 3 and writes to 4: ours are above them."""
_LOADED = (
    """new Promise(resolve => document.readyState === 'complete' ? resolve() : addEventListener('load', resolve))"""
)


class PrerequisiteError(RuntimeError):
    """Chromium is missing; the message says how to install it."""


@dataclass(frozen=True)
class Seen:
    """The requests, errors and layout of a page at one width."""

    requests: list[str]
    console: list[str]
    width: int
    """The width of the content in CSS pixels. If it exceeds the window's width, a reader must scroll."""
    violations: list[str]
    """The findings of axe-core, with impact and first element."""
    pdf: bytes
    """The page as it is printed."""


class Browser:
    """A running Chromium. It answers the commands of the DevTools protocol, one line of JSON and a zero byte each."""

    def __init__(self, to: IO[bytes], answers: IO[bytes]) -> None:
        self._to, self._answers = to, answers
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come before it are kept.

        Raises RuntimeError for an error, and when Chromium ends.
        """
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        self._to.write(json.dumps(command | ({"sessionId": session} if session else {})).encode() + b"\0")
        self._to.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def look(self, page: Path, width: int, scheme: str) -> Seen:
        """Open a page in a window of this width, print it, and check it with axe-core."""
        self.events.clear()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable", session)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", session, **size)
        self.call("Emulation.setEmulatedMedia", session, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", session, url=page.as_uri())
        self._evaluate(session, _LOADED)
        pdf = base64.b64decode(self.call("Page.printToPDF", session, printBackground=True)["data"])
        content_width = self._evaluate(session, "document.documentElement.scrollWidth")
        requests = [each["params"]["request"]["url"] for each in self._of("Network.requestWillBeSent")]
        console = [str(each["params"]) for each in (*self._of("Runtime.consoleAPICalled"), *self._of("Log.entryAdded"))]
        self._evaluate(session, axe())
        found = self._evaluate(session, "axe.run().then(result => result.violations)")
        self.call("Target.closeTarget", targetId=target)
        violations = [f"{each['impact']} {each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]
        return Seen(requests, console, content_width, violations, pdf)

    def _evaluate(self, session: str, expression: str) -> Any:
        options = {"awaitPromise": True, "returnByValue": True}
        answer = self.call("Runtime.evaluate", session, expression=expression, **options)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def _of(self, method: str) -> Iterator[dict[str, Any]]:
        return (each for each in self.events if each.get("method") == method)

    def _read(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("Chromium has ended")
            data += byte
        answer: dict[str, Any] = json.loads(data)
        return answer


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Start Chromium, and end it with all that it started.

    Raises PrerequisiteError.
    """
    program = shutil.which(_PROGRAM)
    if program is None:
        raise PrerequisiteError(f"This needs a program of Debian: apt-get install --no-install-recommends {_PROGRAM}")
    with ExitStack() as stack:
        profile = stack.enter_context(TemporaryDirectory(prefix="kafkaops-chromium-", ignore_cleanup_errors=True))
        its_input, our_output = _pipe()
        our_input, its_output = _pipe()
        redirected = f'exec "$@" 3<&{its_input} 4>&{its_output}'
        process = subprocess.Popen(
            ["bash", "-c", redirected, "bash", program, *_FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(its_input, its_output),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(process.wait, 30)
        stack.callback(process.terminate)
        os.close(its_input)
        os.close(its_output)
        to = stack.enter_context(open(our_output, "wb"))
        answers = stack.enter_context(open(our_input, "rb"))
        yield Browser(to, answers)


def axe() -> str:
    """Return axe-core, installed on first use."""
    directory = PROJECT / ".cache" / _AXE
    script = directory / "axe_core_python" / "axe.min.js"
    if not script.is_file():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--target", str(directory), _AXE], check=True)
    return script.read_text(encoding="utf-8")


def _pipe() -> tuple[int, int]:
    low = os.pipe()
    read, write = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for each in low)
    for each in low:
        os.close(each)
    return read, write
