"""May a file be written where somebody wants it?

Owns the question as commands ask it before they run for minutes. Writes nothing.
"""

from __future__ import annotations

from pathlib import Path

from ninfer_lab.contract.errors import OptionsError


def require_file_place(option: str, path: Path) -> None:
    """A file may stand there, or stands there already.

    Raises:
        OptionsError: Its folder is not there, or it is a folder itself.
    """
    if not path.parent.is_dir():
        found = f"no folder {path.parent}"
        raise OptionsError(option, found=found, legal="a file in a folder that is there")
    if path.is_dir():
        raise OptionsError(option, found=f"{path}, a folder", legal="a file")
