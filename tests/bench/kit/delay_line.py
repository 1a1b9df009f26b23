# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A connection with a delay, as to a distant broker: all bytes arrive later. Standard library only."""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from queue import SimpleQueue

_LOOPBACK = "127.0.0.1"
_MOST_BYTES = 65_536


@contextmanager
def delay_line(port: int, one_way_seconds: float) -> Iterator[int]:
    """Yield a port here that leads to ``port``. What is sent in either direction arrives so much later.

    It runs in a process of its own: it is not what is measured.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_run, args=[theirs, port, one_way_seconds], daemon=True
    )
    process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def _run(pipe: Connection, port: int, one_way_seconds: float) -> None:
    server = socket.create_server((_LOOPBACK, 0))
    pipe.send(server.getsockname()[1])
    while True:
        near, _peer = server.accept()
        far = socket.create_connection((_LOOPBACK, port))
        for source, target in ((near, far), (far, near)):
            target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            on_the_way: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
            threading.Thread(target=_take, args=[source, on_the_way, one_way_seconds], daemon=True).start()
            threading.Thread(target=_deliver, args=[target, on_the_way], daemon=True).start()


def _take(source: socket.socket, on_the_way: SimpleQueue[tuple[float, bytes]], one_way_seconds: float) -> None:
    taken = b"\0"
    while taken:
        try:
            taken = source.recv(_MOST_BYTES)
        except OSError:
            taken = b""
        on_the_way.put((time.monotonic() + one_way_seconds, taken))


def _deliver(target: socket.socket, on_the_way: SimpleQueue[tuple[float, bytes]]) -> None:
    with contextlib.suppress(OSError):
        while True:
            due, taken = on_the_way.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not taken:
                break
            target.sendall(taken)
        target.shutdown(socket.SHUT_WR)
