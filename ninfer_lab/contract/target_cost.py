"""What does a target cost all in all, term by term? (VAL-6)

Owns J as a value. How its terms come about is logical policy's (`context_cache.portfolio_value`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.fixed_point import saturated_sum


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCost:
    """J of one target, term by term.

    Attributes:
        now_ns: Copies and prefill before the first token.
        public_loss_ns: What everybody's prefixes are worth less than in the candidate's identity.
        private_loss_ns: Weighted, over all private owners.
    """

    now_ns: int
    public_loss_ns: int
    private_loss_ns: int

    @property
    def future_loss_ns(self) -> int:
        """What later requests pay for it."""
        return saturated_sum(self.public_loss_ns, self.private_loss_ns)

    @property
    def total_ns(self) -> int:
        """J."""
        return saturated_sum(self.now_ns, self.public_loss_ns, self.private_loss_ns)

    def __str__(self) -> str:
        return (
            f"J {self.total_ns:,} ns = now {self.now_ns:,} + public {self.public_loss_ns:,}"
            f" + private {self.private_loss_ns:,}"
        )
