"""Wrong versions of the tree and of designs over it, each with the test that must catch it."""

from __future__ import annotations

from collections.abc import Iterator

from ninfer_lab.lab import designs
from ninfer_lab.policies.community import llama_slots
from ninfer_lab.policies.community.vllm_aligned import VllmAligned
from ninfer_lab.policies.prefix_tree.blocks import Block, KeptState, PrefixTree
from ninfer_lab.policies.prefix_tree.tree_design import TreeDesign
from policies import test_community as community
from policies import test_community_stories as stories
from policies import test_llama_slots as slots
from policies import test_prefix_tree as trees
from program.mutant import Mutant, Wrong, constant, instead


def _through_blocks_without_pages(
    self: PrefixTree, identity: Wrong, tokens: Wrong
) -> tuple[Block, ...]:
    found: list[Block] = []
    block = self.root(identity)
    while True:
        key = tokens[block.end_tokens : block.end_tokens + self.block_tokens]
        if key not in block.children:
            return tuple(found)
        block = block.children[key]
        found.append(block)


def _any_state_on_the_way(
    self: PrefixTree, root: Block, path: tuple[Block, ...], tokens: Wrong
) -> Iterator[KeptState]:
    for block in (*reversed(path), root):
        for state in block.states.values():
            if state.frontier_tokens < len(tokens):
                yield state


_STREAMS = trees.test_random_streams_are_answered_as_without_a_cache

MUTANTS = (
    Mutant(
        rule="PEER-1",
        what="a state is enough where its pages went",
        where=PrefixTree,
        name="match",
        make=instead(_through_blocks_without_pages),
        killer=community.test_vllm_has_no_use_for_a_state_whose_pages_went,
    ),
    Mutant(
        rule="PEER-1",
        what="a state is gone on from whose tail the prompt does not have",
        where=PrefixTree,
        name="states_on",
        make=instead(_any_state_on_the_way),
        killer=_STREAMS,
        arguments=("sglang",),
    ),
    Mutant(
        rule="PEER-1",
        what="a tail is shared and written behind",
        where=TreeDesign,
        name="_copied",
        make=instead(lambda self, pages: pages),
        killer=_STREAMS,
        arguments=("sglang",),
    ),
    Mutant(
        rule="PEER-1",
        what="readers are not counted",
        where=PrefixTree,
        name="lock",
        make=constant(None),
        killer=_STREAMS,
        arguments=("vllm",),
    ),
    Mutant(
        rule="PEER-2",
        what="vLLM keeps no state of a prompt",
        where=VllmAligned,
        name="wanted_tokens",
        make=constant(()),
        killer=stories.test_what_a_side_request_costs_each_design,
        arguments=(designs.VLLM,),
    ),
    Mutant(
        rule="PEER-3",
        what="a checkpoint is no use where the pages stay either",
        where=llama_slots,
        name="source_of",
        make=constant(None),
        killer=slots.test_more_checkpoints_cure_nothing_once_the_pages_are_returned,
    ),
)
