# Two turns, then another question in place of the second, then the second once more and on. One lane
# and one slot beside it: both are the conversation's own, so a branch can only take its place.
story What is computed again when a conversation is left where its second turn began?
setting tiny

options
  max_context_tokens: 2048
  device_state_slots: 1
  host_state_slots: 0
  host_kv_capacity_bytes: 0

tokens talk
  prompt: conversation[1100]
  answer: first[12]

tokens talk
  prompt: question[30]
  answer: reply[12]

tokens talk
  drop: 42 tokens
  prompt: another-question[25]
  answer: another-reply[12]

tokens talk
  drop: 37 tokens
  prompt: question[30] reply[12] and-more[10]
  answer: last-reply[12]
