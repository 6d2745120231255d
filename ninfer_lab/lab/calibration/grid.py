"""At which points is a machine measured?

Owns the two grids as values: batches of copies over bytes, calls and what is copied, and prefills
over reused and new tokens; each point is either fitted to or held out. Needs no tensors, so that a
fit can be tried on points that nobody measured.
Source: the original engine's calibration grids; what is copied, and how it breaks into calls, is
this engine's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.machine_work import PrefillWork, TransferDirection
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import pages_of_tokens
from ninfer_lab.contract.transfer import STATE_IMAGE_COPIES_COUNT
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.geometries import BENCH_12M, QWEN3_5_27B, TINY
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes

MIB = 1 << 20

CHUNK_MULTIPLE_TOKENS = 128
"""A prefill chunk is measured in eighths, which are whole steps of the chunked delta rule then."""

LONGEST_IN_CHUNKS = 6.5
"""The deepest point of the prefill grid ends there."""


class Part(Enum):
    """What a point is for."""

    TRAINING = "training"
    """Coefficients are fitted to it."""
    HELD_OUT = "held out"
    """The fit has not seen it and is judged by it all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyShape:
    """A model's pages and images, as copies see them.

    Attributes:
        geometry: Of that model.
        dtype: Of its pages.
    """

    name: str
    geometry: ModelGeometry
    dtype: ModelDtype

    @property
    def page_bytes(self) -> int:
        """One page: one piece of memory, so one call carries any run of them."""
        return kv_page_bytes(self.geometry, self.dtype)

    @property
    def longest_context_pages(self) -> int:
        """More are never copied at once for one request."""
        return pages_of_tokens(self.geometry.max_position_tokens)

    @property
    def image_bytes(self) -> int:
        """One StateImage: two pieces."""
        return state_image_bytes(self.geometry, self.dtype)


SMALL_PAGES = CopyShape(name="tiny", geometry=TINY, dtype=ModelDtype.FLOAT32)
MIDDLE_PAGES = CopyShape(name="bench-12m", geometry=BENCH_12M, dtype=ModelDtype.FLOAT32)
LARGE_PAGES = CopyShape(name="27b", geometry=QWEN3_5_27B, dtype=ModelDtype.BFLOAT16)
COPY_SHAPES = (SMALL_PAGES, MIDDLE_PAGES, LARGE_PAGES)
"""Pages of 32 KiB, 128 KiB and 4 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferPoint:
    """One batch of copies.

    Attributes:
        images_count: Whole StateImages, for copies between the tiers.
        pages_count: Whole pages.
        runs_count: Runs that the pages lie in, equally long; within the Device each page is a run.
    """

    direction: TransferDirection
    shape: CopyShape
    part: Part
    images_count: int = 0
    pages_count: int = 0
    runs_count: int = 0

    @property
    def payload_bytes(self) -> int:
        """Bytes that arrive."""
        pages_bytes = self.pages_count * self.shape.page_bytes
        return pages_bytes + self.images_count * self.shape.image_bytes

    @property
    def operation_count(self) -> int:
        """Copy calls, as a price counts them (COST-3)."""
        return self.runs_count + STATE_IMAGE_COPIES_COUNT * self.images_count

    def __str__(self) -> str:
        what = f"{self.pages_count} pages" if self.pages_count else f"{self.images_count} images"
        return (
            f"{self.direction.value} {self.payload_bytes / MIB:.2f} MiB in {self.operation_count}"
            f" ({what} of {self.shape.name})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillPoint:
    """One prefill of `suffix_tokens` behind `reused_tokens`."""

    reused_tokens: int
    suffix_tokens: int
    chunk_tokens: int
    part: Part

    @property
    def work(self) -> PrefillWork:
        """As a price sees it."""
        return PrefillWork.between(
            self.reused_tokens,
            self.reused_tokens + self.suffix_tokens,
            prefill_chunk_tokens=self.chunk_tokens,
        )

    def __str__(self) -> str:
        return f"prefill of {self.suffix_tokens} behind {self.reused_tokens}"


def transfer_grid() -> tuple[TransferPoint, ...]:
    """Every direction at every shape; some 70 points."""
    across = (TransferDirection.D2H, TransferDirection.H2D)
    return (
        *(point for direction in across for point in _across_tiers(direction)),
        *_within_the_device(),
    )


def _across_tiers(direction: TransferDirection) -> Iterator[TransferPoint]:
    """Sizes and runs crossed, as far as a context of that model has so many pages."""
    training = ((1, 8, 64), (1, 8), (1, 4))
    held_out = ((4, 32), (2, 4), (2,))
    for part, (sizes_mib, runs, images) in ((Part.TRAINING, training), (Part.HELD_OUT, held_out)):
        for shape, size, runs_count in product(COPY_SHAPES, sizes_mib, runs):
            pages_count = size * MIB // shape.page_bytes
            if runs_count <= pages_count <= shape.longest_context_pages:
                yield TransferPoint(
                    direction=direction,
                    shape=shape,
                    part=part,
                    pages_count=pages_count,
                    runs_count=runs_count,
                )
        for shape, images_count in product((SMALL_PAGES, MIDDLE_PAGES), images):
            yield TransferPoint(
                direction=direction, shape=shape, part=part, images_count=images_count
            )


def _within_the_device() -> Iterator[TransferPoint]:
    """Copies of single pages: what a second writer of a partial tail gets."""
    for part, counts in ((Part.TRAINING, (1, 4, 16)), (Part.HELD_OUT, (2, 8))):
        for shape, pages_count in product(COPY_SHAPES, counts):
            yield TransferPoint(
                direction=TransferDirection.D2D,
                shape=shape,
                part=part,
                pages_count=pages_count,
                runs_count=pages_count,
            )


def prefill_grid(chunk_tokens: int) -> tuple[PrefillPoint, ...]:
    """Root and deeper, short and long, in units of a chunk.

    Raises:
        OptionsError: A chunk that is no multiple of 128.
    """
    if chunk_tokens < CHUNK_MULTIPLE_TOKENS or chunk_tokens % CHUNK_MULTIPLE_TOKENS:
        raise OptionsError(
            "chunk_tokens", found=chunk_tokens, legal=f"a multiple of {CHUNK_MULTIPLE_TOKENS}"
        )
    training = ((0, 1), (0, 4), (0, 8), (0, 16), (8, 1), (8, 4), (32, 1), (32, 8))
    held_out = ((0, 6), (16, 2), (16, 12), (48, 4))
    eighth = chunk_tokens // 8
    return tuple(
        PrefillPoint(
            reused_tokens=reused * eighth,
            suffix_tokens=suffix * eighth,
            chunk_tokens=chunk_tokens,
            part=part,
        )
        for part, grid in ((Part.TRAINING, training), (Part.HELD_OUT, held_out))
        for reused, suffix in grid
    )


def longest_run_pages(points: Sequence[TransferPoint]) -> int:
    """Pages that hold every point of one shape, a gap of a page behind each run."""
    return max((p.pages_count + p.runs_count for p in points), default=0)
