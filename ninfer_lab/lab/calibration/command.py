"""What does `ninfer-lab calibrate` do?

Owns the order of a run: refuse a preset file that cannot be read before anything is measured,
measure, print the report, and put what was accepted into the file. Does not know how anything is
measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ninfer_lab.lab.calibration.calibrate import CalibrationRequest, MachineBench, calibrate
from ninfer_lab.lab.calibration.calibration import presets_at
from ninfer_lab.lab.output_place import require_file_place

REJECTED_EXIT_CODE = 3
"""What the command returns when something that was measured was not good enough to be believed."""

DEFAULT_FILE = Path("cost_presets.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateCommand:
    """One command line.

    Attributes:
        request: What is measured.
        out: The preset file that takes what was accepted.
    """

    request: CalibrationRequest
    out: Path

    def run(self, say: Callable[[str], None], bench: MachineBench | None = None) -> int:
        """Measures, reports, writes.

        Args:
            say: Takes one line or report at a time.
            bench: What is measured, this machine by default.

        Returns:
            The exit code: 0, or 3 if something was rejected.

        Raises:
            PresetError: `out` is a file that cannot be read; nothing was measured.
            OptionsError: `out` lies in no folder; a chunk or device that cannot be measured.
            CheckpointError: A checkpoint that cannot be served.
        """
        require_file_place("--out", self.out)
        presets_at(self.out)
        calibration = calibrate(self.request, bench=bench)
        say(str(calibration))
        if calibration.write(self.out):
            say(f"wrote {' and '.join(calibration.accepted)} of this machine to {self.out}")
        else:
            say(f"{self.out} was not touched")
        return 0 if calibration.is_accepted else REJECTED_EXIT_CODE
