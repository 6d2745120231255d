"""How is a decision read from outside? (SRCH, VAL)

Owns the names under which the workbench, which reaches no room below the engine, finds what a
search has judged, the arithmetic that it was judged by and the parts that its time goes to; and the
three questions that are asked of an opened problem beside its search. Decides nothing, and adds
nothing up itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from ninfer_lab.context_cache.demand_window import (
    DEMAND_WINDOW_REQUESTS,
    Demand,
    DemandWindow,
    PrefixKey,
    reuse_domain,
)
from ninfer_lab.context_cache.exhaustive_search import Truth, every_target
from ninfer_lab.context_cache.judged_targets import ARENA_TARGETS, Judged, Problem, judge
from ninfer_lab.context_cache.materialization_planner import search_facts
from ninfer_lab.context_cache.portfolio_value import (
    empirical_value_ns,
    private_loss_ns,
    public_value_ns,
    saving_ns,
)
from ninfer_lab.context_cache.resource_search import Found, search
from ninfer_lab.context_cache.target_order import target_key
from ninfer_lab.context_cache.valuation import PriceWork, Valuation
from ninfer_lab.contract.target_cost import TargetCost
from ninfer_lab.program.planning.planning_session import ProgramSession

__all__ = [
    "ARENA_TARGETS",
    "DEMAND_WINDOW_REQUESTS",
    "SEARCH_PARTS",
    "Demand",
    "DemandWindow",
    "Found",
    "Judged",
    "PrefixKey",
    "PriceWork",
    "Problem",
    "SearchPart",
    "Truth",
    "cost_under",
    "empirical_value_ns",
    "every_target",
    "judge",
    "private_loss_ns",
    "public_value_ns",
    "reuse_domain",
    "saving_ns",
    "savings_ns",
    "search",
    "search_facts",
]


class SearchPart(Enum):
    """What a search spends its time on."""

    PROJECTION = "projection"
    VALUE = "J"
    GRAPH = "graph"
    ORDER = "order"
    OTHER = "other"


SEARCH_PARTS: Mapping[SearchPart, tuple[Callable[..., object], ...]] = {
    SearchPart.PROJECTION: (ProgramSession.judge, ProgramSession.assess),
    SearchPart.VALUE: (
        Valuation.cost,
        Valuation.step_loss_ns,
        Valuation.own_loss_ns,
        Valuation.work_ns,
    ),
    SearchPart.GRAPH: (
        ProgramSession.identity,
        ProgramSession.maximal,
        ProgramSession.rung,
        ProgramSession.steps,
        ProgramSession.steps_of,
        ProgramSession.lesser,
        ProgramSession.relief,
        ProgramSession.can_be_improved,
    ),
    SearchPart.ORDER: (target_key,),
}
"""By what each part is entered; what is left of a search is the moves themselves."""


def cost_under(posed: Problem, price: PriceWork, judged: Judged) -> TargetCost:
    """J of a judged target by another belief than it was judged under."""
    return Valuation(posed.session, price, posed.worth).cost(judged.target, judged.verdict)


def savings_ns(posed: Problem, price: PriceWork, owner: int, choice: int) -> tuple[int, ...]:
    """What each checkpoint of an owner spares with an outcome, whatever others keep (VAL-2)."""
    return tuple(
        saving_ns(price(each.rebuild), min(map(price, each.recipes)))
        for each in posed.session.own_recoveries(owner, choice)
    )
