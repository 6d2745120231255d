"""What does an admission hand back, and what is remembered of it until its end?

Owns those values: what callers get, the claim of a request that is Active, and the record of a
transition under way, which exists before Program moves anything (TXN-3). Decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.demand_report import DemandTold
from ninfer_lab.contract.ids import CatalogSlotId, OwnerRef, SessionKey
from ninfer_lab.contract.result import Aborted, Committed
from ninfer_lab.contract.search_report import SearchReport
from ninfer_lab.contract.transaction import TransactionHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class Materialization:
    """An admission that has happened, with what was offered beside it.

    Attributes:
        demand: What joined the window; `None` of a request that does without the cache.
    """

    result: Committed
    report: SearchReport
    demand: DemandTold | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortedMaterialization:
    """An admission that was given up, with what has changed all the same."""

    result: Aborted
    report: SearchReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an active request was promised: where it publishes, and for whom."""

    request: AdmissionRequest
    destination: OwnerRef | None
    slot: CatalogSlotId | None

    @property
    def session_key(self) -> SessionKey | None:
        return self.request.session_key

    @property
    def publication_order(self) -> int:
        return self.request.publication_order


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The transition under way, with what was claimed for it before it started.

    Attributes:
        slot: Promised to the request; `None` where the end itself makes it vacant.
    """

    transaction: TransactionHandle
    request: AdmissionRequest
    destination: OwnerRef | None
    slot: CatalogSlotId | None
    report: SearchReport
