# Report 7. One agent whose history only grows, without a session key; its client marks where each
# prompt will be gone on from, and drops the thoughts of each answer, so that no endpoint is met again.
# Two shared places: the one that a request starts from, and the one that a longer beginning would have
# to take. On its way the agent looks twice at 49,261 tokens and marks nothing, so that three requests
# have wanted them.
story Does a growing history keep its newest beginning?
setting 27b

options
  max_context_tokens: 131072
  kv_capacity_tokens: 524288
  device_state_slots: 4
  host_state_slots: 0
  max_shared_prefixes: 2

tokens agent
  session: -
  prompt: task[25858] note-1[64]
  answer: thoughts-1[16]
  marks: explicit@25858

tokens agent
  session: -
  drop: 80 tokens
  prompt: step-2[15136] note-2[64]
  answer: thoughts-2[16]
  marks: explicit@40994

tokens agent
  session: -
  drop: 80 tokens
  prompt: step-3[8267] note-3[64]
  answer: thoughts-3[16]
  marks: explicit@49261

tokens agent
  session: -
  drop: 80 tokens
  prompt: look-4[64]
  answer: thoughts-4[16]

tokens agent
  session: -
  drop: 80 tokens
  prompt: look-5[64]
  answer: thoughts-5[16]

tokens agent
  session: -
  drop: 80 tokens
  prompt: step-6[8734] note-6[64]
  answer: thoughts-6[16]
  marks: explicit@57995

tokens agent
  session: -
  drop: 80 tokens
  prompt: step-7[4540] note-7[64]
  answer: thoughts-7[16]
  marks: explicit@62535

tokens agent
  session: -
  drop: 80 tokens
  prompt: step-8[3238] note-8[64]
  answer: thoughts-8[16]
  marks: explicit@65773

tokens agent
  session: -
  drop: 80 tokens
  prompt: step-9[17490] note-9[64]
  answer: thoughts-9[16]
  marks: explicit@83263
