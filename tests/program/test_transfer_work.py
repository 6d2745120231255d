"""Law: the work of a target is what its transition asks of the machine, byte for byte and half by
half, and the prefill that is left.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.machine_work import (
    MachineWork,
    PrefillWork,
    TransferBatch,
    TransferDirection,
    TransferPhase,
)
from ninfer_lab.contract.options import SpeculativeBackend
from program.scenes import Pressed, branch, doubled, image_only_on_host
from simulation.engine_world import (
    BACKEND_PAGE_BYTES,
    MAIN_PAGE_BYTES,
    STATE_IMAGE_BYTES,
    prepared,
)
from simulation.program_world import (
    CONSUME,
    RETAIN,
    ProgramWorld,
    Start,
    closure_at,
    small_options,
)

D2H, H2D, D2D = TransferDirection.D2H, TransferDirection.H2D, TransferDirection.D2D
PRESSURE, CANDIDATE = TransferPhase.PRESSURE_TO_HOST, TransferPhase.CANDIDATE
PAGE_BYTES = {KvPool.MAIN: MAIN_PAGE_BYTES, KvPool.BACKEND: BACKEND_PAGE_BYTES}

Built = Callable[[], tuple[ProgramWorld, Start]]


def pressed(consumed: bool) -> tuple[ProgramWorld, Start]:
    scene = Pressed.of(consumed=consumed)
    return scene.world, scene.start


def small() -> ProgramWorld:
    return ProgramWorld(extra_slots=4, pages=10, host_slots=4, host_granules=8)


def forked() -> tuple[ProgramWorld, Start]:
    world = small()
    return world, Start(checkpoint=world.deepest(world.published(range(150))))


def doubled_source() -> tuple[ProgramWorld, Start]:
    world = small()
    owner = world.published(range(150))
    world.degrade(doubled(world, owner))
    return world, Start(checkpoint=world.deepest(owner))


def image_alone() -> tuple[ProgramWorld, Start]:
    world = small()
    owner = world.published(range(150))
    world.degrade(image_only_on_host(world, owner))
    return world, Start(checkpoint=world.deepest(owner))


def shared_victim() -> tuple[ProgramWorld, Start]:
    world = small()
    first = world.published(range(130))
    second = branch(world, first, 150)
    outcomes = (world.demoted(first), world.demoted(second))
    return world, Start(outcomes=outcomes)


def with_a_backend() -> tuple[ProgramWorld, Start]:
    options = small_options(
        extra_slots=4,
        pages=6,
        host_slots=4,
        host_granules=40,
        backend=SpeculativeBackend(lag_tokens=30),
    )
    world = ProgramWorld(options=options)
    source, victim = world.published(range(150)), world.published(range(300, 380))
    world.demote(source)
    return world, Start(checkpoint=world.deepest(source), outcomes=(world.demoted(victim),))


WORLDS: dict[str, Built] = {
    "root": lambda: (small(), Start()),
    "fork": forked,
    "restore beside a demotion": lambda: pressed(consumed=False),
    "consumed restore beside a demotion": lambda: pressed(consumed=True),
    "source in both tiers": doubled_source,
    "only the image on the Host": image_alone,
    "two victims that share": shared_victim,
    "with a backend": with_a_backend,
}


def asked_bytes(world: ProgramWorld) -> dict[TransferDirection, int]:
    """What the machine was asked to copy, by direction."""
    copied = dict.fromkeys(TransferDirection, 0)
    for transfer in world.machine.transfers:
        copied[transfer.direction] += len(transfer.states) * STATE_IMAGE_BYTES
        copied[transfer.direction] += sum(PAGE_BYTES[page.pool] for page in transfer.pages)
    copied[D2D] = sum(PAGE_BYTES[copy.pool] for copy in world.machine.copies)
    return copied


@pytest.mark.parametrize("name", WORLDS)
def test_the_machine_is_asked_for_what_was_counted(name: str) -> None:  # spec: COST-2
    world, start = WORLDS[name]()
    request = world.request(range(200))
    work = world.assess(request, start).work
    world.machine.transfers.clear()
    world.machine.copies.clear()
    world.admit(request, start)
    counted = dict.fromkeys(TransferDirection, 0)
    for batch in work.transfers:
        counted[batch.direction] += batch.payload_bytes
        assert (batch.phase is PRESSURE) is (batch.direction is D2H)
    assert counted == asked_bytes(world)


def test_a_transition_with_everything_in_it() -> None:  # spec: COST-2
    scene = Pressed.of()
    request = scene.world.request(range(200))
    # The victim's image and three pages go; the source's image, two pages and its tail come. Both
    # runs of pages are whole but for the closure's tail, which lies between the source's.
    assert scene.world.assess(request, scene.start).work == MachineWork(
        transfers=(
            TransferBatch(
                phase=PRESSURE,
                direction=D2H,
                payload_bytes=STATE_IMAGE_BYTES + 3 * MAIN_PAGE_BYTES,
                operation_count=2 + 1,
            ),
            TransferBatch(
                phase=CANDIDATE,
                direction=H2D,
                payload_bytes=STATE_IMAGE_BYTES + 3 * MAIN_PAGE_BYTES,
                operation_count=2 + 2 + 1,
            ),
        ),
        prefill=PrefillWork(reused_tokens=150, suffix_tokens=50, chunk_count=1),
    )


@pytest.mark.parametrize(("disposition", "copied_bytes"), [(RETAIN, MAIN_PAGE_BYTES), (CONSUME, 0)])
def test_a_tail_on_the_device_is_copied_within_it(disposition: object, copied_bytes: int) -> None:
    world = small()
    start = Start(checkpoint=world.deepest(world.published(range(150))))
    if disposition is CONSUME:
        start = Start(checkpoint=start.checkpoint, disposition=CONSUME)
    work = world.assess(world.request(range(200)), start).work
    assert [(b.direction, b.payload_bytes, b.operation_count) for b in work.transfers] == (
        [(D2D, copied_bytes, 1)] if copied_bytes else []
    )


def test_what_is_left_to_prefill_is_cut_where_the_prompt_is() -> None:  # spec: COST-4
    world = ProgramWorld(extra_slots=3, pages=8, chunk_tokens=50)
    owner = world.published(prepared(range(80), cuts=(30,)), captures=(closure_at(30),))
    request = world.request(prepared(range(200), cuts=(30, 100)))
    found = world.assess(request, Start(checkpoint=world.deepest(owner)))
    # [80, 100), [100, 150), [150, 200).
    assert found.work.prefill == PrefillWork(reused_tokens=80, suffix_tokens=120, chunk_count=3)


def test_only_what_crosses_tiers_takes_time() -> None:  # spec: RES-1
    answers = {}
    for name, build in WORLDS.items():
        world, start = build()
        answers[name] = world.assess(world.request(range(200)), start).needs_transfer
    assert [name for name, needs in answers.items() if not needs] == [
        "root",
        "fork",
        "source in both tiers",
    ]
