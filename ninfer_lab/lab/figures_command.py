"""What does `ninfer-lab figures` write? (FIG-1, CLI-1, BAD-1)

Owns the files of every published table and figure, a text table with a PNG and an SVG of each
picture, and their order: everything is made before anything is written, and each file takes its
place whole. Does not know how any of them is reproduced (`published`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.published import Published, Reproduced, select

DEFAULT_FOLDER = Path("figures")


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresCommand:
    """One command line.

    Attributes:
        out: A folder; made if it is not there.
        names: Which of them; all for none.
    """

    out: Path = DEFAULT_FOLDER
    names: tuple[str, ...] = ()

    def run(self, say: Callable[[str], None]) -> tuple[Path, ...]:
        """Reproduces and writes.

        Args:
            say: Takes one table at a time.

        Returns:
            The files, in the order in which they were written.

        Raises:
            OptionsError: No such name; a place where no folder can be. Nothing was run.

        Effects: writes files into the folder, each whole, once all of them are made.
        """
        wanted = select(self.names)
        self._require_folder()
        contents: dict[str, bytes] = {}
        for each in wanted:
            reproduced = each.reproduce()
            say(f"{reproduced}\n")
            contents.update(files_of(each, reproduced))
        written = write_all(self.out, contents)
        say(f"{len(written)} files written to {self.out}")
        return written

    def _require_folder(self) -> None:
        nearest = next(place for place in (self.out, *self.out.parents) if place.exists())
        if not nearest.is_dir():
            legal = "a folder, or a place where one can be made"
            raise OptionsError("--out", found=f"{nearest}, a file", legal=legal)


def files_of(entry: Published, reproduced: Reproduced) -> Mapping[str, bytes]:
    """Names and contents: the table as text, and each picture twice."""
    contents = {f"{entry.name}.txt": f"{reproduced}\n".encode()}
    for part, picture in reproduced.pictures.items():
        stem = f"{entry.name}-{part}" if part else entry.name
        contents[f"{stem}.png"] = picture.png_bytes()
        contents[f"{stem}.svg"] = picture.svg_bytes()
    return contents


def write_all(folder: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Writes every file beside its place, then moves them all: where one cannot be written none
    has changed.

    Raises:
        OptionsError: The folder or a file cannot be written.
    """
    drafts: dict[Path, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            draft = drafts[folder / name] = folder / f".{name}.draft"
            draft.write_bytes(content)
        for path, draft in drafts.items():
            draft.replace(path)
    except OSError as error:
        found, legal = str(error), "a folder that can be written"
        raise OptionsError("--out", found=found, legal=legal) from error
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
    return tuple(drafts)
