"""What was said of other engines when a side request comes, and what do their models reuse?

Owns the table: what public documents say of each engine, in our own words, beside what a model of
it reuses of the published conversation (PEER-2), with the engine that lost everything and this one
on either side. Its picture stands here, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.lab import designs, palette
from ninfer_lab.lab.compare_runs import SAID_OF_MODELS
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.side_requests import Group, side_run, text_table

SAID = {
    designs.LANE_OWNED: "the title takes the conversation's only lane and clears it",
    designs.VLLM: "counts shared blocks once more, takes blocks of its own, moves neither",
    designs.SGLANG: "splits a node and shares its parent; a state stays where it ended",
    designs.TENSORRT: "cannot touch blocks of a higher priority",
    designs.LLAMA: "what a slot had goes to a pool in main memory, if there is one",
    designs.MARCONI: "not spoken of",
    designs.SNAPSHOT_TREE: "not spoken of",
    designs.CATALOG: "keeps the conversation's complete states while another runs",
}
"""What was published of a side request's effect, by engine."""

WHY_NOTHING = (
    "Turn 2 renders the last answer anew, so only a state before that answer can be of use;\n"
    "SGLang and Marconi keep none there, with a side request or without."
)

_HEAD = ("design", "published: a side request …", "no title", "title", "postfix", "after it")
_LABELS = ("turn 2, nothing between", "turn 2 after a title", "a postfix title", "turn 2 after it")


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRow:
    """One design over the published conversation, in cached prompt tokens.

    Attributes:
        undisturbed: Turn 2 with nothing between.
        after_title: Turn 2 after a title by a prompt of its own.
        postfix_title: The title as one more message of the conversation.
        after_postfix: Turn 2 after that.
    """

    design: str
    undisturbed: int
    after_title: int
    postfix_title: int
    after_postfix: int

    @property
    def cached_tokens(self) -> tuple[int, int, int, int]:
        """In the order of the table's columns."""
        return self.undisturbed, self.after_title, self.postfix_title, self.after_postfix


@dataclass(frozen=True, slots=True, kw_only=True)
class SideTable:
    """All of them; prints what was published beside what is reproduced."""

    rows: tuple[SideRow, ...]

    def __str__(self) -> str:
        cells = [(row.design, SAID[row.design], *map(str, row.cached_tokens)) for row in self.rows]
        return f"{text_table(_HEAD, cells)}\n\n{WHY_NOTHING}\n\n{SAID_OF_MODELS}"


def community_side_requests() -> SideTable:
    """Plays groups A, B and C to every design, at the published lengths and in the state slots of
    the lane-owned engine; a few seconds.
    """
    return SideTable(rows=tuple(_row(name) for name in SAID))


def _row(name: str) -> SideRow:
    design = designs.named(name)
    control, title, postfix = (
        [each.cached_tokens for each in side_run(group, design, name=name).observed]
        for group in Group
    )
    return SideRow(
        design=name,
        undisturbed=control[-1],
        after_title=title[-1],
        postfix_title=postfix[0],
        after_postfix=postfix[-1],
    )


def picture(table: SideTable, *, title: str | None = None) -> Picture:
    """Four bars for each design."""
    figure = Picture(figsize=(9.0, 4.0), layout="constrained")
    axes = figure.subplots()
    width = 0.2
    colours = (
        palette.CAPACITY_COLOUR,
        palette.ALLOCATED_COLOUR,
        palette.OWNER_COLOURS[2],
        palette.OWNER_COLOURS[3],
    )
    for ordinal, (label, colour) in enumerate(zip(_LABELS, colours, strict=True)):
        x = [place + (ordinal - 1.5) * width for place in range(len(table.rows))]
        tokens = [row.cached_tokens[ordinal] for row in table.rows]
        axes.bar(x, tokens, width * 0.9, color=colour, label=label)
        for at, count in zip(x, tokens, strict=True):
            if not count:
                axes.text(at, 8, "0", ha="center", va="bottom", fontsize=7)
    axes.set_xticks(range(len(table.rows)), [row.design for row in table.rows])
    axes.set_ylabel("prompt tokens that needed no forward")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, frameon=False, title=title)
    figure.supxlabel(SAID_OF_MODELS, fontsize=7, color=palette.TEXT_COLOUR)
    return figure
