"""Which inactive owners does an active request lean on?

Owns the owner edges (ROLE-5): a lease from admission to terminal settlement, not a generation and
not a count. Every "how many lean on it" is derived from the edges.
"""

from __future__ import annotations

from collections.abc import Collection

from ninfer_lab.contract.ids import OwnerId, RequestId


class OwnerEdges:
    """Edges from active requests to the owners they retain."""

    def __init__(self) -> None:
        self._edges: dict[RequestId, OwnerId] = {}

    def add(self, request: RequestId, owner: OwnerId) -> None:
        """A request starts leaning on an owner; it has at most one source."""
        assert request not in self._edges
        self._edges[request] = owner

    def settle(self, request: RequestId) -> None:
        """The request has ended."""
        self._edges.pop(request, None)

    def owners(self) -> frozenset[OwnerId]:
        """Everybody who is leant on."""
        return frozenset(self._edges.values())

    def owners_besides(self, requests: Collection[RequestId]) -> tuple[OwnerId, ...]:
        """Owners that some other request leans on, each once, in the order they were leant on."""
        leant_on = (owner for request, owner in self._edges.items() if request not in requests)
        return tuple(dict.fromkeys(leant_on))

    def protects(self, owner: OwnerId) -> bool:
        """Whether any active request leans on it (TGT-2)."""
        return owner in self._edges.values()
