"""Wrong versions of what is wanted, of what is inherited, and of how a chance ends."""

from __future__ import annotations

from dataclasses import replace

from context_cache import test_rolling_demand as rolling
from context_cache import test_shared_captures as captures
from context_cache import test_shared_prefixes as prefixes
from context_cache import test_valuation as valuation
from ninfer_lab.context_cache.prefix_demand import PrefixDemand
from ninfer_lab.context_cache.public_worth import PublicWorth
from ninfer_lab.context_cache.shared_captures import SharedCaptures
from ninfer_lab.context_cache.shared_catalog import SharedCatalog
from ninfer_lab.context_cache.shared_prefixes import SharedPrefixes
from ninfer_lab.context_cache.valuation import Valuation
from program.mutant import Mutant, Wrong, always, constant, instead


def _with_the_consumed(self: Wrong, candidate: int) -> Wrong:
    identity = self._session.identity(candidate)
    return {owner: self._standing_in(identity, owner) for owner in self._wanted}


def _proposed_alone(right: Wrong) -> Wrong:
    def wanted(self: Wrong, request: Wrong, verified: Wrong) -> PrefixDemand:
        found: PrefixDemand = right(self, request, verified)
        proposed = {each.frontier_tokens for each in request.prompt.shared_candidates}
        keys = frozenset(key for key in found.demand.keys if key.frontier_tokens in proposed)
        return replace(found, demand=replace(found.demand, keys=keys))

    return wanted


def _of_itself_alone(right: Wrong) -> Wrong:
    def value_ns(self: Wrong, standing: Wrong) -> Wrong:
        bare = [s._replace(worth=s.worth._replace(inherited=frozenset())) for s in standing]
        return right(self, bare)

    return value_ns


def _rolls_always(right: Wrong) -> Wrong:
    def made(self: Wrong, *given: Wrong) -> None:
        right(self, *given)
        self._rolls = True

    return made


MUTANTS = (
    Mutant(
        rule="VAL-3",
        what="a private checkpoint is wanted by nobody",
        where=PublicWorth,
        name="keys",
        make=always(frozenset()),
        killer=valuation.test_a_private_checkpoint_that_was_asked_for_is_lost_to_those_as_well,
    ),
    Mutant(
        rule="VAL-3",
        what="a consumed source still serves everybody",
        where=Valuation,
        name="_standing_at_first",
        make=instead(_with_the_consumed),
        killer=valuation.test_what_an_active_request_has_taken_over_serves_nobody_else,
    ),
    Mutant(
        rule="VAL-1",
        what="what was matched is no demand",
        where=SharedPrefixes,
        name="_demand_of",
        make=_proposed_alone,
        killer=prefixes.test_what_was_matched_privately_is_wanted_as_well,
    ),
    Mutant(
        rule="VAL-3",
        what="nothing is inherited",
        where=PublicWorth,
        name="value_ns",
        make=_of_itself_alone,
        killer=rolling.test_an_extension_serves_whoever_wanted_what_it_extends,
    ),
    Mutant(
        rule="VAL-3",
        what="a prefix that a request creates inherits nothing",
        where=PrefixDemand,
        name="inherited_at",
        make=constant(frozenset()),
        killer=rolling.test_rolled_on_the_newest_beginning_is_kept,
    ),
    Mutant(
        rule="VAL-3",
        what="demand rolls on unasked",
        where=SharedPrefixes,
        name="__init__",
        make=_rolls_always,
        killer=rolling.test_by_default_what_many_have_wanted_stays,
    ),
    Mutant(
        rule="EVD-2",
        what="a recycled entry stays",
        where=SharedCaptures,
        name="_recycle",
        make=constant(None),
        killer=captures.test_a_recycled_entry_goes_once_it_is_chosen_and_all_is_planned_again,
    ),
    Mutant(
        rule="SES-2",
        what="a promise is never given back",
        where=SharedCatalog,
        name="take_promise_back",
        make=constant(None),
        killer=captures.test_what_is_given_up_gives_its_promise_back,
    ),
    Mutant(
        rule="SHR-6",
        what="an exact owner that is there keeps its credit",
        where=SharedCatalog,
        name="consume_credit",
        make=constant(None),
        killer=captures.test_an_exact_owner_is_enough_and_its_credit_is_met,
    ),
)
