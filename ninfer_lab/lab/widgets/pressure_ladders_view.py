"""What does each owner give up, rung by rung, under the reader's hand? (W-2)

Owns the view of one decision's ladders: what is sent to the browser, and the two forms that stand
without one. Draws what `ladders` found.
"""

from __future__ import annotations

from typing import Any

from ninfer_lab.lab import palette
from ninfer_lab.lab.decisions import Decision
from ninfer_lab.lab.ladder_figures import FATE_COLOURS, RUNG_COLOURS, owner_ladders
from ninfer_lab.lab.ladder_figures import recency_ladder as recency_figure
from ninfer_lab.lab.ladders import (
    OwnerLadder,
    RecencyLadder,
    freed_pages,
    recency_ladder,
)
from ninfer_lab.lab.ladders import owner_ladders as ladders_of
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.widgets.live_view import LiveView, module_text


class PressureLaddersView(LiveView):
    """One ladder per owner, from staying to its end, with the rung taken; below them the recency
    ladder with its licence, where the decision was taken with one.

    `step` goes along the best so far: 0 is what was found first, the last was taken. `selected` is
    an owner.

    Args:
        decision: One in which something was taken.

    Raises:
        ValueError: Nothing was.
    """

    _esm = module_text("pressure_ladders_view")

    def __init__(self, decision: Decision) -> None:
        self.name = decision.problem.name
        best = decision.best
        self.found = [each for each in decision.incumbents if each != best] + [best]
        self.ladders = [ladders_of(decision, each.target) for each in self.found]
        self.freed_pages = [freed_pages(decision, each.target) for each in self.found]
        self.recency = None if decision.problem.recency is None else recency_ladder(decision)
        last = len(self.found) - 1
        super().__init__(
            columns={},
            facts={
                "name": self.name,
                "found": [self._found(i) for i in range(last + 1)],
                "recency": None if self.recency is None else _recency(self.recency),
                "capacity_colour": palette.CAPACITY_COLOUR,
                "kinds": _kinds(),
            },
            steps_count=last + 1,
            step=last,
        )

    def _found(self, ordinal: int) -> dict[str, Any]:
        ladders = self.ladders[ordinal]
        taken = [ladder.rungs[ladder.taken] for ladder in ladders]
        return {
            "total_ns": self.found[ordinal].cost.total_ns,
            "alone_pages": sum(rung.alone.pages for rung in taken),
            "freed_pages": self.freed_pages[ordinal],
            "ladders": [_ladder(ladder) for ladder in ladders],
        }

    def __str__(self) -> str:
        found = self._found(self.step)
        lines = [
            f"{self.name}, number {self.step + 1} of {self.steps_count} that were the best so far:"
            f" J {found['total_ns'] / 1e6:,.0f} ms,"
            f" frees {found['freed_pages']} Device pages"
            f" (each owner alone, added up: {found['alone_pages']})",
            *map(str, self.ladders[self.step]),
        ]
        if self.recency is not None:
            licence = ", ".join(map(str, sorted(self.recency.licence)))
            lines += ["by recency, the oldest first:", str(self.recency), f"licence: {licence}"]
        return "\n".join(lines)

    def picture(self) -> Picture:
        if self.recency is not None:
            return recency_figure(self.recency)
        return owner_ladders(self.ladders[self.step])


def _kinds() -> list[tuple[str, str]]:
    """For the legend: (words, colour), kinds of one colour together."""
    words: dict[str, list[str]] = {}
    for kind, colour in RUNG_COLOURS.items():
        words.setdefault(colour, []).append(kind.value)
    return [(", or ".join(names), colour) for colour, names in words.items()]


def _ladder(ladder: OwnerLadder) -> dict[str, Any]:
    return {
        "owner": ladder.owner,
        "retention": ladder.retention.value.replace("_", " "),
        "weight": ladder.retention.weight,
        "taken": ladder.taken,
        "is_source": ladder.is_source,
        "rungs": [
            {
                "kind": rung.kind.value,
                "colour": RUNG_COLOURS[rung.kind],
                "words": rung.words,
                "alone": [rung.alone.pages, rung.alone.slots],
                "jointly": [rung.jointly.pages, rung.jointly.slots],
                "loss_ns": rung.loss_ns,
            }
            for rung in ladder.rungs
        ],
    }


def _recency(found: RecencyLadder) -> dict[str, Any]:
    return {
        "order": found.order,
        "licence": sorted(found.licence),
        "fates": [[fate.value, colour] for fate, colour in FATE_COLOURS.items()],
        "rungs": [
            {
                "gone_count": rung.gone_count,
                "fates": [fate.value for fate in rung.fates],
                "is_adoptable": rung.is_adoptable,
                "is_least": rung is found.least,
                "verdict": rung.verdict,
                "cost_ns": rung.cost_ns,
            }
            for rung in found.rungs
        ],
    }
