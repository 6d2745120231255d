"""Wrong versions of how a shared prefix is asked for, sealed and published."""

from __future__ import annotations

from ninfer_lab.contract.shared_report import CaptureForm
from ninfer_lab.program.capture_desk import CaptureDesk
from ninfer_lab.program.storage import shared_source
from ninfer_lab.program.transactions import shared_publication
from program import test_capture_desk as desk
from program import test_shared_publication as publication
from program import test_shared_source as source
from program.mutant import Mutant, Wrong, constant


def _whatever_was_sealed(right: Wrong) -> Wrong:
    def take(self: Wrong, plan: Wrong, readied: Wrong) -> Wrong:
        self._sealed = plan
        return right(self, plan, readied)

    return take


MUTANTS_OF_CAPTURES = (
    Mutant(
        rule="CPT-2",
        what="a shared prefix is asked for wherever it could be written",
        where=CaptureDesk,
        name="is_offered",
        make=constant(True),
        killer=desk.test_it_is_asked_where_it_was_planned_and_nowhere_else,
    ),
    Mutant(
        rule="TXN-1",
        what="any sealed capture is taken",
        where=CaptureDesk,
        name="take",
        make=_whatever_was_sealed,
        killer=desk.test_a_capture_is_used_once_and_only_the_last,
    ),
    Mutant(
        rule="SHR-6",
        what="a kept source lends nothing",
        where=shared_source,
        name="lending_checkpoint",
        make=constant(None),
        killer=source.test_a_kept_source_lends_until_the_sequence_has_gone_on,
    ),
    Mutant(
        rule="OWN-2",
        what="the writer goes on in the prefix's own tail",
        where=shared_publication,
        name="copy_tails",
        make=constant(True),
        killer=publication.test_what_is_published_is_the_state_at_the_frontier,
        arguments=(CaptureForm.FREEZE, 100),
    ),
    Mutant(
        rule="INV-15",
        what="an owner stands on tails that were not copied",
        where=shared_publication,
        name="copy_tails",
        make=constant(True),
        killer=publication.test_a_tail_that_is_not_copied_leaves_no_owner,
        arguments=(CaptureForm.SNAPSHOT,),
    ),
)
