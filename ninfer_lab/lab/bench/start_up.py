"""How long does an import take in a process that has imported nothing?

Owns the fresh processes. Does not know what the module does.
"""

from __future__ import annotations

import subprocess
import sys

from ninfer_lab.contract.errors import InvariantBroken

PROCESS_COUNT = 5
"""The best of so many counts: a first one also reads files from the disk."""

SCRIPT = """
import sys, time
start_ns = time.perf_counter_ns()
import {module}
print(time.perf_counter_ns() - start_ns, "torch" in sys.modules)
"""


def import_seconds(module: str) -> float:
    """The best of several fresh processes, in seconds.

    Raises:
        InvariantBroken: The import brought torch along.
    """
    best_ns = min(_import_ns(module) for _ in range(PROCESS_COUNT))
    return best_ns / 1e9


def _import_ns(module: str) -> int:
    done = subprocess.run(  # noqa: S603  (this interpreter)
        [sys.executable, "-c", SCRIPT.format(module=module)],
        capture_output=True,
        text=True,
        check=True,
    )
    took_ns, has_torch = done.stdout.split()
    if has_torch != "False":
        raise InvariantBroken("bench import", f"`import {module}` imported torch")
    return int(took_ns)
