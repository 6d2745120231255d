# Report 31. Ten histories for seven places, the oldest gives way; the second time the newest comes first.
story How many of so many histories are still there the second time?
setting 27b

options
  max_context_tokens: 2048
  kv_capacity_tokens: 8192
  device_state_slots: 3
  host_state_slots: 4
  host_kv_capacity_bytes: 536870912
  max_private_continuations: 7
  recency_eviction: on

repeat 1 rounds over p-1..p-10
  tokens {item}
    prompt: {item}[700]
    answer: said-{item}[8]

repeat 1 rounds over p-10 p-9 p-8 p-7 p-6 p-5 p-4 p-3 p-2 p-1
  tokens {item}
    prompt: again-{item}[16]
    answer: said-again-{item}[8]
