"""What is there to read about every target of one decision? (W-1)

Owns the value that the target graph's view reads, with its words: each target's way in, what
becomes of every owner, and, where the search judged it, J term by term and each inequality that
fails. Made from a searched decision, which knows every target, or from a report, which knows those
that were looked at. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.search_report import SearchReport, TargetVerdict
from ninfer_lab.engine.decision_reading import Judged
from ninfer_lab.lab.decisions import Decision
from ninfer_lab.lab.owner_rungs import outcome_words
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.searches import searches
from ninfer_lab.lab.target_graph import NodeVerdict, graph_of

TERMS = ("copies", "prefill", "lost to all", "lost to owners")
"""Of J, in reading order: the first two are now, the others are what later requests pay."""

TERMS_OF_A_REPORT = ("now: copies and prefill", *TERMS[2:])
"""A report does not tell copies and prefill apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTarget:
    """One target.

    Attributes:
        candidate: Ordinal.
        depth: How far below an identity: whatever is below has given up more.
        looked_at: When it was judged, from 1; `None` where it was not.
        fates: For every owner, the ordinal of its words.
        told: What the search said of it; `None` where it was not judged.
        terms_ns: Of J, in the order of the graph's `terms`; empty where nobody has priced it.
    """

    candidate: int
    depth: int
    verdict: NodeVerdict
    looked_at: int | None
    fates: tuple[int, ...]
    told: TargetVerdict | None
    terms_ns: tuple[int, ...]

    @property
    def total_ns(self) -> int | None:
        """J; `None` where nobody has priced it."""
        return sum(self.terms_ns) if self.terms_ns else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTargets:
    """The targets of one decision.

    Attributes:
        candidates: Where each candidate starts from, in words.
        owners: Name of each owner, in order.
        words: For every owner, what may become of it; the first is that it stays.
        terms: Of J.
        steps: (from, to), ordinals of targets; down is where more is given up.
        incumbents: Ordinals of targets, each the best when it was found; the last was taken.
        untold_count: Targets that were seen and are not here.
        level: What one line further down is; a report knows no steps, only who gives up more.
    """

    name: str
    candidates: tuple[str, ...]
    owners: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    terms: tuple[str, ...]
    targets: tuple[SeenTarget, ...]
    steps: tuple[tuple[int, int], ...]
    incumbents: tuple[int, ...]
    untold_count: int = 0
    level: str = "step"

    def count(self, verdict: NodeVerdict) -> int:
        """Targets of one verdict."""
        return sum(target.verdict is verdict for target in self.targets)

    @property
    def looks_count(self) -> int:
        """Targets that were judged."""
        return sum(target.looked_at is not None for target in self.targets)

    def __str__(self) -> str:
        verdicts = ", ".join(f"{self.count(v)} {v.value}" for v in NodeVerdict if self.count(v))
        path = " → ".join(
            f"{(self.targets[i].total_ns or 0) / 1e6:,.0f} ms (look {self.targets[i].looked_at})"
            for i in self.incumbents
        )
        untold = f" {self.untold_count:,} more are not told." if self.untold_count else ""
        return (
            f"{self.name}: {len(self.targets):,} targets: {verdicts}."
            f" Incumbents: {path or 'none'}.{untold}"
        )

    def describe(self, ordinal: int) -> str:
        """A target's whole end state, J term by term, and every inequality that fails.

        Raises:
            IndexError: No such target.
        """
        target = self.targets[ordinal]
        look = "" if target.looked_at is None else f", look {target.looked_at}"
        lines = [f"target {ordinal}: {target.verdict.value}{look}"]
        lines.append(self.candidates[target.candidate])
        if target.told is not None:
            told = target.told
            lines.append(
                f"reuse {told.reuse_tokens:,} tokens, compute {told.prefill_tokens:,},"
                f" {told.state.value}, {told.cow_pages} pages copied"
            )
        changed = [
            f"{owner}: {words[fate]}"
            for owner, words, fate in zip(self.owners, self.words, target.fates, strict=True)
            if fate
        ]
        staying = len(self.owners) - len(changed)
        lines += [*changed, f"{staying} of {len(self.owners)} owners stay as they are"]
        if target.terms_ns:
            parts = " + ".join(
                f"{name} {term / 1e6:,.1f}"
                for name, term in zip(self.terms, target.terms_ns, strict=True)
            )
            lines.append(f"J {sum(target.terms_ns) / 1e6:,.1f} ms = {parts}")
        if target.told is not None:
            lines += [f"does not fit {violation}" for violation in target.told.violations]
        return "\n".join(lines)


def seen_targets(
    subject: Decision | SearchReport | Recording | SeenTargets, request: int | None = None
) -> SeenTargets:
    """What there is to read about a decision.

    Args:
        subject: A searched decision; a report; or a recording in which `request` was decided.
        request: Of a recording.

    Raises:
        OptionsError: The recording tells of no search for the request.
    """
    match subject:
        case SeenTargets():
            return subject
        case Decision():
            return of_decision(subject)
        case SearchReport():
            return of_report(subject, "a search")
        case Recording():
            return of_recording(subject, request)


def of_decision(decision: Decision) -> SeenTargets:
    """Every target there is; where there are more than a picture holds, those looked at."""
    try:
        graph = graph_of(decision)
    except OptionsError:
        return of_report(decision.report(), f"{decision.problem.name}, what was looked at")
    session = decision.posed.session
    told, judged = decision.report().verdicts, decision.found.judged
    numbers = [
        sorted({node.target.choices[owner] for node in graph.nodes} | {0})
        for owner in range(len(session.owners))
    ]
    places = [{number: i for i, number in enumerate(row)} for row in numbers]
    return SeenTargets(
        name=graph.name,
        candidates=graph.candidates,
        owners=tuple(f"owner {owner.id}" for owner in session.owners),
        words=tuple(
            tuple(outcome_words(session, owner, number) for number in row)
            for owner, row in enumerate(numbers)
        ),
        terms=TERMS,
        targets=tuple(
            SeenTarget(
                candidate=node.target.candidate,
                depth=node.depth,
                verdict=node.verdict,
                looked_at=node.looked_at,
                fates=tuple(row[c] for row, c in zip(places, node.target.choices, strict=True)),
                told=None if node.looked_at is None else told[node.looked_at - 1],
                terms_ns=(
                    () if node.looked_at is None else _terms(decision, judged[node.looked_at - 1])
                ),
            )
            for node in graph.nodes
        ),
        steps=graph.steps,
        incumbents=graph.incumbents,
    )


def _terms(decision: Decision, judged: Judged) -> tuple[int, ...]:
    work, cost = judged.verdict.work, judged.cost
    prefill_ns = decision.posed.valuation.work_ns(type(work)(prefill=work.prefill))
    return (
        cost.now_ns - prefill_ns,
        prefill_ns,
        cost.public_loss_ns,
        cost.private_loss_ns,
    )


# ── from a report ───────────────────────────────────────────────────────────────────────────────

_FATES = ("stays", "keeps less, or elsewhere", "evicted")
"""What a report knows of an owner; the further, the more it gives up."""


def of_recording(recording: Recording, request: int | None) -> SeenTargets:
    """The search that admitted a request, or the last one that tried.

    Raises:
        OptionsError: The recording tells of no search for it.
    """
    found = [(e.request, report) for e, report in searches(recording.events)]
    reports = [report for asked, report in found if asked == request]
    if not reports:
        asked = sorted({each for each, _ in found})
        legal = f"one of {', '.join(map(str, asked[:12]))}" if asked else "a run with requests"
        raise OptionsError("request", found=request, legal=legal)
    name = f"{recording.facts.world}, request {request}"
    return of_report(reports[-1], name)


def of_report(report: SearchReport, name: str) -> SeenTargets:
    """The targets of a report, each beneath the one that gives up most of what it gives up."""
    verdicts = report.verdicts
    owners = sorted({id for v in verdicts for id in (*v.evicted, *v.degraded)})
    sources = list(dict.fromkeys(map(_source, verdicts)))
    fates = [
        tuple(2 if id in v.evicted else 1 if id in v.degraded else 0 for id in owners)
        for v in verdicts
    ]
    above = _above([sources.index(_source(v)) for v in verdicts], fates)
    depths: list[int] = [0] * len(verdicts)
    for ordinal in sorted(range(len(verdicts)), key=lambda i: (sum(fates[i]), i)):
        upper = above[ordinal]
        depths[ordinal] = 0 if upper is None else depths[upper] + 1
    return SeenTargets(
        name=name,
        candidates=tuple(_source_words(source) for source in sources),
        owners=tuple(f"owner {id}" for id in owners),
        words=(_FATES,) * len(owners),
        terms=TERMS_OF_A_REPORT,
        targets=tuple(
            SeenTarget(
                candidate=sources.index(_source(verdict)),
                depth=depths[i],
                verdict=_verdict(verdict),
                looked_at=i + 1,
                fates=fates[i],
                told=verdict,
                terms_ns=(
                    ()
                    if verdict.cost is None
                    else (
                        verdict.cost.now_ns,
                        verdict.cost.public_loss_ns,
                        verdict.cost.private_loss_ns,
                    )
                ),
            )
            for i, verdict in enumerate(verdicts)
        ),
        steps=tuple((upper, i) for i, upper in enumerate(above) if upper is not None),
        incumbents=_incumbents(report),
        untold_count=report.omitted.seen,
        level="level",
    )


_Source = tuple[int | None, int, SourceDisposition | None]


def _source(verdict: TargetVerdict) -> _Source:
    return verdict.owner, verdict.reuse_tokens, verdict.disposition


def _source_words(source: _Source) -> str:
    owner, reuse_tokens, disposition = source
    if owner is None:
        return "from root"
    how = "using it up" if disposition is SourceDisposition.CONSUME else "leaving it"
    return f"from owner {owner} at {reuse_tokens:,}, {how}"


def _verdict(verdict: TargetVerdict) -> NodeVerdict:
    if not verdict.is_feasible:
        return NodeVerdict.INFEASIBLE
    return NodeVerdict.ADOPTABLE if verdict.has_publication_slot else NodeVerdict.NO_SLOT


def _incumbents(report: SearchReport) -> tuple[int, ...]:
    best_ns, found = None, []
    for ordinal, verdict in enumerate(report.verdicts):
        if not verdict.is_adoptable or verdict.cost is None:
            continue
        if best_ns is None or verdict.cost.total_ns < best_ns:
            best_ns = verdict.cost.total_ns
            found.append(ordinal)
    if report.chosen is not None and report.chosen not in found[-1:]:
        found = [each for each in found if each != report.chosen] + [report.chosen]
    return tuple(found)


def _above(candidates: Sequence[int], fates: Sequence[tuple[int, ...]]) -> list[int | None]:
    """For each target, of those of its candidate that give up part of what it gives up the one that
    gives up most, and of equals the first.
    """
    masks = [
        sum((fate >= 1) << 2 * o | (fate >= 2) << 2 * o + 1 for o, fate in enumerate(row))
        for row in fates
    ]
    by_candidate: dict[int, list[int]] = {}
    above: list[int | None] = [None] * len(fates)
    for ordinal in sorted(range(len(fates)), key=lambda i: (-masks[i].bit_count(), -i)):
        by_candidate.setdefault(candidates[ordinal], []).append(ordinal)
    for row in by_candidate.values():
        for place, ordinal in enumerate(row):
            mask = masks[ordinal]
            lesser = [i for i in row[place + 1 :] if masks[i] != mask and not masks[i] & ~mask]
            if lesser:
                most = masks[lesser[0]].bit_count()
                above[ordinal] = min(i for i in lesser if masks[i].bit_count() == most)
    return above
