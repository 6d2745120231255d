# Report 13. Two coding sessions of 114,000 tokens on an engine for four, whose Device holds little
# more than one of them: each turn starts from one and presses on the other.
story Can two long sessions take turns where only one of them fits?
setting 27b

options
  max_concurrency: 4
  max_context_tokens: 131072
  kv_capacity_tokens: 147456
  prefill_chunk_tokens: 8192
  host_state_slots: 16
  host_kv_capacity_bytes: 17179869184

repeat 1 rounds over one two
  tokens session-{item}
    prompt: code-{item}[114000]
    answer: plan-{item}[16]

repeat 2 rounds over one two
  tokens session-{item}
    prompt: result-{item}-{round}[1500]
    answer: step-{item}-{round}[16]
