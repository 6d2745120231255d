# Four conversations of bare tokens at once: their rows decode together at frontiers around the end of
# a page. One goes on behind its answer, one asks again from before it.
story Do rows at different frontiers keep to themselves?
setting tiny

options
  max_concurrency: 4
  max_context_tokens: 512
  device_state_slots: 6
  kv_capacity_tokens: 2048

tokens edge
  at: 0 s
  prompt: edge[62]
  answer: edge-said[7]
  max_output: 7 tokens

tokens page
  at: 0 s
  prompt: page[64]
  answer: page-said[6]
  max_output: 6 tokens

tokens long
  at: 0 s
  prompt: long[131]
  answer: long-said[5]
  max_output: 5 tokens

tokens one
  at: 0 s
  prompt: one[1]
  answer: one-said[4]
  max_output: 4 tokens

tokens long
  prompt: more[3]
  answer: long-again[4]
  max_output: 4 tokens

tokens edge
  drop: 7 tokens
  prompt: other[5]
  answer: edge-again[3]
  max_output: 3 tokens
