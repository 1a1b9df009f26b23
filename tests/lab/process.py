# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Processes of the lab: they end with this process, log to a file, and can always be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TETHER = Path(__file__).with_name("tether.py")

# Children die with the thread that started them, so that thread has to last as long as the process.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lab-starter")


def java() -> str:
    """Return the Java launcher: of JAVA_HOME if that is set, else the first on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def java_command(
    class_path: Sequence[Path], main_class: str, *args: str, heap: str = "256m", jvm_args: Sequence[str] = ()
) -> list[str]:
    """Return the command that runs a Java class, tuned for a quick start on few cores."""
    tuning = [f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
    return [java(), *tuning, *jvm_args, "-cp", ":".join(map(str, class_path)), main_class, *args]


def spawn(command: Sequence[str], log_path: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start ``command`` in its own session, output appended to ``log_path``; it dies when this process does."""
    return _starter.submit(_spawn, command, log_path, env).result()


def _spawn(command: Sequence[str], log_path: Path, env: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    tethered = [sys.executable, "-I", "-S", str(_TETHER), str(os.getpid()), *command]
    with log_path.open("ab") as log:
        return subprocess.Popen(
            tethered,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=None if env is None else {**os.environ, **env},
        )


def is_stopped(process: subprocess.Popen[Any]) -> bool:
    """Return whether SIGSTOP has stopped every thread; on busy cores, some continue for a while."""
    try:
        stats = [stat.read_text() for stat in Path(f"/proc/{process.pid}/task").glob("*/stat")]
    except (FileNotFoundError, ProcessLookupError):
        return False  # a thread has just ended, so others run, too
    return bool(stats) and all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL the process, stopped or not, and wait until it is gone."""
    process.kill()
    process.wait()


def terminate(process: subprocess.Popen[bytes], timeout: float) -> bool:
    """Send SIGTERM and wait; after ``timeout`` seconds send SIGKILL, and return False."""
    process.send_signal(signal.SIGCONT)
    process.terminate()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        kill(process)
        return False
    return True


@contextmanager
def clean_up_on_error(clean_up: Callable[[], None]) -> Iterator[None]:
    """Call ``clean_up`` if the body raises, KeyboardInterrupt included."""
    try:
        yield
    except BaseException:
        clean_up()
        raise


def check_running(process: subprocess.Popen[bytes], what: str, log: Path) -> None:
    """Raise RuntimeError, with the end of its log, when a process has ended."""
    if process.poll() is not None:
        raise RuntimeError(f"{what} ended: {tail(log)}")


def tail(path: Path, lines: int = 40) -> str:
    """Return the last ``lines`` lines of a text file, or a note that there are none."""
    if not path.is_file():
        return f"({path} was not written)"
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
