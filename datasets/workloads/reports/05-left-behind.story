# Report 5. An agent's client writes the time into the first line, so that each of its prompts leaves
# the last one at the very start: what was kept of it can never match again, and is longer than what
# another session comes back to. Two places for three histories.
story Does a history that its own session has left keep a living one out?
setting 27b

options
  max_context_tokens: 65536
  kv_capacity_tokens: 131072
  prefill_chunk_tokens: 8192
  device_state_slots: 2
  host_state_slots: 0
  max_private_continuations: 2
  endpoint_anchors: off

tokens neighbour
  prompt: other-task[8000]
  answer: other-plan[16]

tokens first-clock
  session: agent
  prompt: clock-1[12] task[25850]
  answer: plan[16]

tokens second-clock
  session: agent
  prompt: clock-2[12] task[25850] plan[16] result[15000]
  answer: step[16]

tokens neighbour
  prompt: other-result[600]
  answer: other-step[16]
