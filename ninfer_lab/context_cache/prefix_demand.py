"""What does one request want to find of shared prefixes, and what may it create?

Owns the record that is fixed when a request is admitted, and how it is told. Does not know what a
prefix is worth, nor whether it comes into being.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.context_cache.evidence import CREATING_RIGHTS, CreationRight
from ninfer_lab.contract.demand_report import DemandTold, PrefixWanted
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.shared_prefix import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixDemand:
    """What a request wants and may create, fixed when it is admitted.

    Attributes:
        demand: Its record for the window.
        matched: Shared owners that Program has verified for it.
        matched_keys: Theirs.
        rights: By frontier, of its candidates.
        evidence: By frontier.
        extended: Keys whose demand rolls on to what it creates beyond them.
        offers_tokens: Where the prefill is to be split for it.
    """

    demand: Demand
    matched: tuple[OwnerId, ...]
    matched_keys: frozenset[PrefixKey]
    rights: Mapping[int, CreationRight]
    evidence: Mapping[int, Evidence]
    extended: frozenset[PrefixKey] = frozenset()
    offers_tokens: tuple[int, ...] = ()

    def inherited_at(self, frontier_tokens: int) -> frozenset[PrefixKey]:
        """Of what it may create at a frontier: every matched prefix begins like its own prompt."""
        return frozenset(key for key in self.extended if key.frontier_tokens < frontier_tokens)

    def told(self) -> DemandTold:
        """For recordings."""
        return DemandTold(
            self.demand.domain,
            tuple(
                PrefixWanted(
                    *key,
                    evidence=self.evidence.get(key.frontier_tokens, Evidence(0)),
                    is_matched=key in self.matched_keys,
                    is_selected=key.frontier_tokens in self.offers_tokens,
                    may_be_created=self.rights.get(key.frontier_tokens) in CREATING_RIGHTS,
                )
                for key in sorted(self.demand.keys)
            ),
        )
