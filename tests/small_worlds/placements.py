"""Where can the contents of a topology be?

Owns the placements that the small worlds try: every placement of one owner's contents, and a few of
everybody's together. What an active sequence needs is on the Device, and what it alone may write is
nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from small_worlds.filled_world import Where, World
from small_worlds.plain_sets import Content, Kind
from small_worlds.topologies import Topology

TOGETHER: tuple[tuple[Where, Where, Where, Where], ...] = (
    (Where.DEVICE, Where.DEVICE, Where.DEVICE, Where.DEVICE),
    (Where.HOST, Where.HOST, Where.HOST, Where.HOST),
    (Where.BOTH, Where.BOTH, Where.BOTH, Where.BOTH),
    (Where.HOST, Where.HOST, Where.DEVICE, Where.DEVICE),
    (Where.DEVICE, Where.DEVICE, Where.HOST, Where.HOST),
    (Where.HOST, Where.DEVICE, Where.HOST, Where.DEVICE),
    (Where.DEVICE, Where.BOTH, Where.BOTH, Where.HOST),
)
"""Of the first owner's images, its pages, the others' images, their pages."""


def every_placement(topology: Topology, owner: int) -> Iterator[World]:
    """One owner's contents in every way, everything else on the Device; every other time with holes
    between Host pages.
    """
    contents = sorted(topology.contents_of(owner))
    allowed = (_allowed(topology, content) for content in contents)
    for number, placed in enumerate(product(*allowed)):
        where = dict(zip(contents, placed, strict=True))
        yield placed_world(topology, where, gap_granules=number % 2)


def together(topology: Topology) -> Iterator[World]:
    """A few placements of everybody's contents, with and without holes between Host pages."""
    first = topology.contents_of(0)
    for number, (images, pages, other_images, other_pages) in enumerate(TOGETHER):
        where = {}
        for content in topology.owned:
            of_first = content in first
            if content.kind is Kind.IMAGE:
                where[content] = images if of_first else other_images
            else:
                where[content] = pages if of_first else other_pages
        yield placed_world(topology, where, gap_granules=number % 2)


def placed_world(topology: Topology, where: Mapping[Content, Where], *, gap_granules: int) -> World:
    """What is not said is on the Device; what an active sequence needs is there, too."""
    placed = {}
    for content in topology.contents:
        wanted = where.get(content, Where.DEVICE)
        allowed = _allowed(topology, content)
        placed[content] = wanted if wanted in allowed else allowed[-1]
    return World(topology=topology, where=placed, gap_granules=gap_granules)


def _allowed(topology: Topology, content: Content) -> tuple[Where, ...]:
    if content not in topology.owned:
        return (Where.DEVICE,)
    if content in topology.bound_to_device:
        return (Where.DEVICE, Where.BOTH)
    return (Where.DEVICE, Where.HOST, Where.BOTH)
