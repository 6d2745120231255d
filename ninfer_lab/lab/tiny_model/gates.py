"""Is the trained model good enough to prove faults of a cache with?

Owns the five gates and their limits. Does not know how the scores were measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ninfer_lab.lab.tiny_model.evaluate import Score, Subject, Swap

CHANGING_RIGHT_MIN: Final = 0.98
CODE_RIGHT_MIN: Final = 0.90
FOREIGN_STATE_MIN: Final = 0.90
CODE_RIGHT_WITHOUT_KV_MAX: Final = 0.50


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One requirement and what was found.

    Attributes:
        name: In words.
        found_share: The worst share over all lengths.
        at_length_tokens: The length at which it was found.
        legal: The limit, in words.
        passed: Whether it holds.
    """

    name: str
    found_share: float
    at_length_tokens: int
    legal: str
    passed: bool


def judge(scores: Sequence[Score]) -> tuple[Gate, ...]:
    """Hold scores against the five gates; each is judged at the length where it does worst.

    Args:
        scores: Of `evaluate.measure`, every subject and swap at one length or more.

    Returns:
        The gates, always in the same order.
    """
    changing = _of(scores, Subject.CHANGING, Swap.NOTHING)
    codes = _of(scores, Subject.CODE, Swap.NOTHING)
    return (
        _at_least("changing facts, own cache: right", changing, _right, CHANGING_RIGHT_MIN),
        _at_least("codes, own cache: right", codes, _right, CODE_RIGHT_MIN),
        _at_least(
            "changing facts, foreign state: the other conversation's answer",
            _of(scores, Subject.CHANGING, Swap.STATE_FOREIGN),
            _foreign,
            FOREIGN_STATE_MIN,
        ),
        _at_most(
            "codes, zeroed KV: right",
            _of(scores, Subject.CODE, Swap.KV_ZERO),
            _right,
            CODE_RIGHT_WITHOUT_KV_MAX,
        ),
        _at_most(
            "codes, foreign KV: right",
            _of(scores, Subject.CODE, Swap.KV_FOREIGN),
            _right,
            CODE_RIGHT_WITHOUT_KV_MAX,
        ),
    )


def _right(score: Score) -> float:
    return score.right_share


def _foreign(score: Score) -> float:
    return score.foreign_share


def _of(scores: Iterable[Score], subject: Subject, swap: Swap) -> list[Score]:
    return [score for score in scores if score.subject is subject and score.swap is swap]


def _at_least(
    name: str, scores: Sequence[Score], share: Callable[[Score], float], limit: float
) -> Gate:
    worst = min(scores, key=lambda score: (share(score), score.length_tokens))
    return Gate(
        name=name,
        found_share=share(worst),
        at_length_tokens=worst.length_tokens,
        legal=f"at least {limit:.0%}",
        passed=share(worst) >= limit,
    )


def _at_most(
    name: str, scores: Sequence[Score], share: Callable[[Score], float], limit: float
) -> Gate:
    worst = max(scores, key=lambda score: (share(score), score.length_tokens))
    return Gate(
        name=name,
        found_share=share(worst),
        at_length_tokens=worst.length_tokens,
        legal=f"at most {limit:.0%}",
        passed=share(worst) <= limit,
    )
