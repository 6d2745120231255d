"""What is a checkpoint made of, and in which tier does each part lie?

Owns the picture of one owner's checkpoints over the tokens they cover: one StateImage each, and the
pages of every pool, whose coverage may end earlier. Reads a snapshot only.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot
from ninfer_lab.lab import palette
from ninfer_lab.lab.picture import Picture

_ROW_HEIGHT, _BOX_HEIGHT = 1.0, 0.72
_POOL_NAMES = {KvPool.MAIN: "Main KV pages", KvPool.BACKEND: "backend KV pages"}


def anatomy(
    ledger: LedgerSnapshot,
    owner: OwnerId,
    options: ResolvedOptions,
    *,
    title: str | None = None,
) -> Picture:
    """Every checkpoint of an inactive owner: its image, its pages, and the tier of each.

    Args:
        ledger: Where the owner is inactive.
        owner: Its number.
        options: What each pool must cover at a frontier.
        title: Above the legend.
    """
    (placed,) = (each for each in ledger.owners if each.owner == owner)
    pools = options.capacity.pools
    rows_count = 1 + len(pools)
    checkpoints = placed.checkpoints
    height = 0.9 + len(checkpoints) * (0.55 + 0.42 * rows_count)
    figure = Picture(figsize=(9.5, height), layout="constrained")
    panels = figure.subplots(len(checkpoints), 1, sharex=True, squeeze=False)[:, 0]
    deepest_tokens = checkpoints[-1].summary.frontier_tokens
    for axes, checkpoint in zip(panels, checkpoints, strict=True):
        _Anatomy(axes, ledger, options).draw(checkpoint, rows_count)
        axes.set_xlim(-0.02 * deepest_tokens, _edge_tokens(deepest_tokens) * 1.01)
    panels[-1].set_xlabel("tokens of the history")
    figure.legend(
        handles=[
            Patch(color=palette.DEVICE_COLOUR, alpha=0.75, label="on the Device"),
            Patch(color=palette.HOST_COLOUR, alpha=0.75, label="on the Host"),
            Patch(
                facecolor=palette.FREE_COLOUR,
                edgecolor=palette.EDGE_COLOUR,
                label="in the page, not covered",
            ),
        ],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        title=title,
    )
    return figure


class _Anatomy:
    """One checkpoint in one panel."""

    def __init__(self, axes: Axes, ledger: LedgerSnapshot, options: ResolvedOptions) -> None:
        self._axes = axes
        self._ledger = ledger
        self._options = options

    def draw(self, checkpoint: CheckpointPlacement, rows_count: int) -> None:
        """The image on top, then pool by pool."""
        axes, frontier = self._axes, checkpoint.summary.frontier_tokens
        kind = checkpoint.summary.kind.value.replace("_", " ")
        axes.set_title(f"{kind} at {frontier} tokens", loc="left", fontsize=10)
        self._image(checkpoint, y=(rows_count - 1) * _ROW_HEIGHT)
        names = ["StateImage"]
        for row, pool in enumerate(self._options.capacity.pools, start=1):
            self._pages(checkpoint, pool, y=(rows_count - 1 - row) * _ROW_HEIGHT)
            names.append(_POOL_NAMES[pool])
        axes.axvline(frontier, color=palette.TEXT_COLOUR, linewidth=1.0, linestyle=(0, (4, 3)))
        middle = [
            (rows_count - 1 - row) * _ROW_HEIGHT + _BOX_HEIGHT / 2 for row in range(rows_count)
        ]
        axes.set_yticks(middle, names, fontsize=9)
        axes.set_ylim(-0.15, rows_count * _ROW_HEIGHT)
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)

    def _image(self, checkpoint: CheckpointPlacement, *, y: float) -> None:
        (found,) = (each for each in self._ledger.images if each.image == checkpoint.image)
        frontier = checkpoint.summary.frontier_tokens
        places = _places(("slot", found.device_slot), ("Host slot", found.host_slot))
        colours = _tiers(found.device_slot is not None, found.host_slot is not None)
        _striped(self._axes, (0, y), frontier, colours)
        self._axes.text(
            frontier / 2, y + _BOX_HEIGHT / 2, places, ha="center", va="center", fontsize=8
        )

    def _pages(self, checkpoint: CheckpointPlacement, pool: KvPool, *, y: float) -> None:
        frontier = checkpoint.summary.frontier_tokens
        covered_tokens = self._options.coverage_tokens(pool, frontier)
        replicas = {each.page: each for each in self._ledger.pages_of(pool)}
        for ordinal, page in enumerate(checkpoint.pages_of(pool)):
            found, start = replicas[page], ordinal * PAGE_TOKENS
            end = min(start + PAGE_TOKENS, covered_tokens)
            self._axes.add_patch(
                Rectangle((start, y), PAGE_TOKENS, _BOX_HEIGHT, color=palette.FREE_COLOUR)
            )
            colours = _tiers(found.device_page is not None, found.host_granule is not None)
            _striped(self._axes, (start, y), end - start, colours)
            self._axes.add_patch(
                Rectangle(
                    (start, y),
                    PAGE_TOKENS,
                    _BOX_HEIGHT,
                    fill=False,
                    edgecolor=palette.EDGE_COLOUR,
                    linewidth=0.8,
                )
            )
            places = _places(("page", found.device_page), ("granule", found.host_granule))
            self._axes.text(
                start + PAGE_TOKENS / 2,
                y + _BOX_HEIGHT / 2,
                places,
                ha="center",
                va="center",
                fontsize=8,
            )


def _places(*named: tuple[str, int | None]) -> str:
    """Where the replicas lie, in words."""
    return " + ".join(f"{noun} {place}" for noun, place in named if place is not None)


def _tiers(on_device: bool, on_host: bool) -> list[str]:
    """One colour for each tier that has a replica."""
    colours = [palette.HOST_COLOUR] if on_host else []
    return [*colours, palette.DEVICE_COLOUR] if on_device else colours


def _striped(axes: Axes, corner: tuple[float, float], width: float, colours: Sequence[str]) -> None:
    """One box in as many stripes as there are replicas."""
    x, y = corner
    stripe = _BOX_HEIGHT / len(colours)
    for ordinal, colour in enumerate(colours):
        axes.add_patch(
            Rectangle(
                (x, y + ordinal * stripe), width, stripe, color=colour, linewidth=0, alpha=0.55
            )
        )


def _edge_tokens(frontier_tokens: int) -> int:
    """The end of the page that a frontier lies in."""
    return -(-frontier_tokens // PAGE_TOKENS) * PAGE_TOKENS
