"""What do kernels need of each chip? Asked in a process that compiles, told line by line.

Owns the child process of `KernelStudy.compiled`: a process interprets its kernels or compiles
them, never both. Prints how many lines will follow, then one JSON object per kernel and chip as
soon as it is known. Does not know who reads.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from ninfer_kernels.ahead_of_time import CHIPS, compile_for, one_per_kernel, shipped_kernels


def main(only: str) -> None:
    """Compiles the largest form of each kernel of the ops whose folder holds `only`."""
    sample = list(one_per_kernel(shipped_kernels(only)))
    _say(len(sample) * len(CHIPS))
    for shipped in sample:
        for chip in CHIPS:
            _say(asdict(compile_for(shipped, chip)))


def _say(line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
