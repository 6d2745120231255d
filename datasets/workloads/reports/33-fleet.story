# Report 33. Five agents share one lane and come at once. Then each sends its next prompt, but the
# third has replaced its history behind the tools by a summary.
story Does an agent wait for its own prefill, or for the others?
setting 27b

options
  max_context_tokens: 32768
  kv_capacity_tokens: 131072
  prefill_chunk_tokens: 8192
  device_state_slots: 6
  max_private_continuations: 6

repeat 1 rounds over agent-1..agent-5
  tokens {item}
    at: 0 s
    prompt: tools[2000] task-{item}[18000]
    answer: plan-{item}[16]

tokens agent-1
  at: 60 s
  prompt: result-1[500]
  answer: step-1[16]

tokens agent-2
  at: 60 s
  prompt: result-2[500]
  answer: step-2[16]

tokens agent-3
  at: 60 s
  drop: 18016 tokens
  prompt: compacted[3000] result-3[500]
  answer: step-3[16]
