"""How are an engine's options written in a story?

Owns the block `options` in both directions: counts as numbers, switches as `on` or `off`, and the
speculative backend by its own two fields. Does not know requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.options import ContextCache, EngineOptions, SpeculativeBackend
from ninfer_lab.lab.story import StoryError
from ninfer_lab.lab.story_fields import Block, Field

_SWITCHES = (
    "kv_lease_growth",
    "backfill",
    "recency_eviction",
    "release_diverged",
    "endpoint_anchors",
    "automatic_markers_take_surplus",
    "recycles_shared_prefixes",
    "rolling_retention",
)
_BACKEND_LAG = "backend_lag_tokens"
"""Stands for the backend: there is one if this is written."""
_BACKEND_CAPACITY = "backend_kv_capacity_tokens"
ON, OFF = "on", "off"
SWITCH = MappingProxyType({ON: True, OFF: False})
"""How a switch is written."""


def read_options(block: Block) -> EngineOptions:
    """The options of a block.

    Raises:
        StoryError: A name that is none, or options that no engine can be built from.
    """
    names = (each.name for each in fields(EngineOptions) if each.name != "backend")
    given = block.by_name((*names, _BACKEND_LAG, _BACKEND_CAPACITY))
    backend = _backend(given)
    values: dict[str, Any] = {name: _value(name, each) for name, each in given.items()}
    try:
        options = EngineOptions(backend=backend, **values)
        options.resolve()
    except StoryError:
        raise
    except NinferLabError as error:
        block.place.refuse(error.what, found=error.found, legal=error.legal)
    return options


def _value(name: str, written: Field) -> ContextCache | bool | int:
    if name == "context_cache":
        return written.choice({mode.value: mode for mode in ContextCache})
    if name in _SWITCHES:
        return written.choice(SWITCH)
    return written.count()


def _backend(given: dict[str, Field]) -> SpeculativeBackend | None:
    lag, capacity = given.pop(_BACKEND_LAG, None), given.pop(_BACKEND_CAPACITY, None)
    if lag is None:
        if capacity is not None:
            capacity.refuse(f"none without {_BACKEND_LAG}, by which there is a backend")
        return None
    return SpeculativeBackend(
        kv_capacity_tokens=None if capacity is None else capacity.count(), lag_tokens=lag.count()
    )


def written_options(options: EngineOptions) -> Iterator[tuple[str, str]]:
    """Names and values of everything that is not as it is by default."""
    for each in fields(EngineOptions):
        value = getattr(options, each.name)
        if value == each.default:
            continue
        match value:
            case SpeculativeBackend():
                yield _BACKEND_LAG, str(value.lag_tokens)
                if value.kv_capacity_tokens is not None:
                    yield _BACKEND_CAPACITY, str(value.kv_capacity_tokens)
            case ContextCache():
                yield each.name, value.value
            case bool():
                yield each.name, ON if value else OFF
            case _:
                yield each.name, str(value)
