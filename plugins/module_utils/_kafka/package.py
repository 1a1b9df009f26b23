# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Import parts of kafka-python without its clients. Standard library only.

kafka-python's package imports all its clients, and these import nearly all its files. That takes two fifths of the
import's time, in each module's process and each of Spark's workers. This collection does not use these clients.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_NAME = "kafka"


def defer_clients() -> None:
    """Make the package import its clients when one is first used. Does nothing if it is already imported."""
    if _NAME in sys.modules:
        return
    spec = find_spec(_NAME)
    if spec is None or spec.loader is None:
        return
    package = module_from_spec(spec)
    loader = spec.loader

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if find_spec(f"{_NAME}.{name}") is not None:
            return import_module(f"{_NAME}.{name}")
        del package.__getattr__
        loader.exec_module(package)
        return getattr(package, name)

    ModuleType.__setattr__(package, "__getattr__", get)
    sys.modules[_NAME] = package
