# Report 28. Two branches of one history of 60,000 tokens take turns; the Device has pages for the
# history and little more, so they must hold them in common.
story What does it cost to go back and forth between branches of a long context?
setting 27b

options
  max_context_tokens: 65536
  kv_capacity_tokens: 69632
  prefill_chunk_tokens: 8192
  device_state_slots: 4
  host_kv_capacity_bytes: 0
  max_private_continuations: 3

tokens base
  prompt: code[60000]
  answer: plan[16]

tokens left
  from: base
  prompt: left[500]
  answer: said-left[16]

tokens right
  from: base
  prompt: right[500]
  answer: said-right[16]

repeat 2 rounds over left right
  tokens {item}
    prompt: more-{item}-{round}[500]
    answer: more-said-{item}-{round}[16]
