"""How is the next token drawn?

Owns a request's choice, checked where it is made. Does not know logits.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.errors import OptionsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the next token is drawn from the logits. Temperature 0 is greedy.

    Attributes:
        temperature: Divides the logits; 0 takes the largest (ties: the smallest token id).
        top_k: Keep the k most probable tokens; `None` keeps all.
        top_p: Keep the smallest set of most probable tokens that reaches this mass.
        seed: Key of the counter-based generator. The absolute position of the drawn token is the
            counter, so a resumed request draws what the uninterrupted one would have drawn.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.temperature >= 0.0 or self.temperature == float("inf"):
            raise OptionsError(
                "sampling.temperature", found=self.temperature, legal="a finite number >= 0"
            )
        if self.top_k is not None and self.top_k < 1:
            raise OptionsError("sampling.top_k", found=self.top_k, legal="None or >= 1")
        if not 0.0 < self.top_p <= 1.0:
            raise OptionsError("sampling.top_p", found=self.top_p, legal="0 < top_p <= 1")
        if not 0 <= self.seed < 2**64:
            raise OptionsError("sampling.seed", found=self.seed, legal="0 <= seed < 2**64")


GREEDY = Sampling()
"""The likeliest token, always."""
