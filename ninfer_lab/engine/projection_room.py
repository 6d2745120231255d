"""How is Program asked for the end states of very many targets?

Owns the way from a written-down decision to Program's projection, whole and by what one owner
changes, for whoever times or compares the two. Does not know which targets are worth asking for:
they are drawn at random, as far down the degradation graph as is wished.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.engine.decision_problem import DecisionProblem
from ninfer_lab.engine.decision_room import FilledLedger
from ninfer_lab.program.planning.neighbour_projection import NeighbourProjector
from ninfer_lab.program.planning.owner_domain import OwnerDomain

Numbers = tuple[int, ...]
"""A target: the number of every owner's outcome, the source's left out."""


class ProjectionRoom:
    """The targets of a problem's last candidate.

    Attributes:
        pages_count: Logical pages that there are.
    """

    def __init__(self, problem: DecisionProblem) -> None:
        filled = FilledLedger(problem)
        self._projector = filled.readied().projector
        candidate = filled.candidates()[-1]
        self._candidate = self._projector.candidate(candidate)
        ledger = self._projector.ledger
        source = None if candidate.source is None else candidate.source.owner
        self._domains = [
            OwnerDomain(ledger, owner)
            for owner in ledger.continuations.all()
            if owner.ref != source
        ]
        self.pages_count = sum((s.on_device | s.on_host).bit_count() for s in ledger.kv.values())

    def drawn(self, draw: Random, *, changed_share: float, steps_count: int) -> Numbers:
        """A random target.

        Args:
            changed_share: Of the owners, on the average; each of them is degraded.
            steps_count: The most steps that are taken with each of them.
        """
        return tuple(
            [
                self._degraded(domain, draw, steps_count) if draw.random() < changed_share else 0
                for domain in self._domains
            ]
        )

    def _degraded(self, domain: OwnerDomain, draw: Random, steps_count: int) -> int:
        number = 0
        for _ in range(draw.randint(1, steps_count)):
            number = draw.choice(domain.below(number) or (number,))
        return number

    def outcomes(self, target: Numbers) -> tuple[OwnerOutcome, ...]:
        """Of all the owners that do not stay as they are."""
        numbered = zip(self._domains, target, strict=True)
        return tuple([domain.outcome(number) for domain, number in numbered if number])

    def below(self, target: Numbers) -> list[OwnerOutcome]:
        """What any one of the owners may become with one more step."""
        numbered = zip(self._domains, target, strict=True)
        return [
            domain.outcome(lower) for domain, number in numbered for lower in domain.below(number)
        ]

    def replaced(
        self, outcomes: Sequence[OwnerOutcome], changed: OwnerOutcome
    ) -> tuple[OwnerOutcome, ...]:
        """The same target, and this of one owner."""
        others = [each for each in outcomes if each.owner != changed.owner]
        return tuple(sorted((*others, changed), key=lambda each: each.owner.id))

    def fits(self, outcomes: Sequence[OwnerOutcome]) -> bool:
        """Projects a whole target, to its end and through every stage."""
        order, post = self._projector.order, self._candidate.project(outcomes)
        return order.fits(order.uses(post), post)

    def beside(self, outcomes: Sequence[OwnerOutcome]) -> Callable[[OwnerOutcome], bool]:
        """The same of what differs from a target in one owner."""
        order = self._projector.order
        neighbours = NeighbourProjector(self._projector, self._candidate, outcomes)

        def fits(changed: OwnerOutcome) -> bool:
            post, uses = neighbours.tell(changed)
            return order.fits(uses, post)

        return fits
