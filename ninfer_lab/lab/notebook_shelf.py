"""Where are the notebooks, and in which order are they read?

Owns the shelf: a folder's numbered notebooks. Imports nothing of Jupyter, so that a wrong name is
answered at once. Knows neither what a notebook says nor how it is run.
Source: rules NB-3 and CLI-1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import ninfer_lab
from ninfer_lab.contract.errors import NinferLabError


class NotebookError(NinferLabError):
    """A notebook that is missing, that fails, or that may not be committed as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookShelf:
    """The notebooks of a folder, by number."""

    paths: tuple[Path, ...]

    @classmethod
    def find(cls, folder: Path | None = None) -> Self:
        """The shelf in `folder`, else the checkout's own, else the working directory's.

        Raises:
            NotebookError: No such folder, or no notebook in it.
        """
        places = (
            (Path(ninfer_lab.__file__).parents[1] / "notebooks", Path.cwd() / "notebooks")
            if folder is None
            else (folder,)
        )
        for place in dict.fromkeys(places):
            paths = tuple(sorted(place.resolve().glob("[0-9]*.ipynb")))
            if paths:
                return cls(paths=paths)
        raise NotebookError(
            "notebooks",
            found=f"no numbered .ipynb in {' or '.join(map(str, dict.fromkeys(places)))}",
            legal="a checkout of the project, or --notebooks FOLDER",
        )

    def first(self) -> Path:
        """The notebook a reader opens first."""
        return self.paths[0]

    def select(self, names: tuple[str, ...]) -> tuple[Path, ...]:
        """The notebooks of these names, with or without suffix, in reading order; all for none.

        Raises:
            NotebookError: A name that is not on the shelf.
        """
        by_name = {path.stem: path for path in self.paths}
        wanted = [name.removesuffix(".ipynb") for name in names]
        for name in wanted:
            if name not in by_name:
                raise NotebookError("notebook", found=name, legal=", ".join(by_name))
        return tuple(path for name, path in by_name.items() if not wanted or name in wanted)
