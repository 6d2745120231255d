"""What can still be asked about requests that have ended?

Owns the outcomes, bounded: the oldest are forgotten first. Does not know how a request ends.
"""

from __future__ import annotations

from collections import OrderedDict

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.engine.request import RequestOutcome

RETAINED_OUTCOMES = 4_096
"""Enough for whoever asks soon after the end; a serving engine ends requests for ever."""


class RetainedOutcomes:
    """By request, in the order of their ends."""

    def __init__(self) -> None:
        self._outcomes: OrderedDict[RequestId, RequestOutcome] = OrderedDict()

    def keep(self, outcome: RequestOutcome) -> None:
        """A request has ended."""
        self._outcomes[outcome.request] = outcome
        if len(self._outcomes) > RETAINED_OUTCOMES:
            self._outcomes.popitem(last=False)

    def __contains__(self, request: RequestId) -> bool:
        return request in self._outcomes

    def of(self, request: RequestId) -> RequestOutcome:
        """What remains of an ended request.

        Raises:
            PromptError: It still runs, is unknown, or ended too long ago.
        """
        found = self._outcomes.get(request)
        if found is None:
            raise PromptError(
                "request",
                found=f"request {request}, running or unknown",
                legal="one that has ended",
            )
        return found
