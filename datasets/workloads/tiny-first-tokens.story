# Prompts of many lengths, from the root, behind an endpoint, and restored from the Host: what first
# tokens wait for on the small model, so that predictions can be held against a clock.
story How long does the first token take, and was that foreseen?
setting tiny

options
  max_context_tokens: 4096
  device_state_slots: 4
  kv_capacity_tokens: 8192
  max_private_continuations: 12

repeat 2 rounds over a-1..a-4
  tokens {item}
    prompt: short-{item}-{round}[70]
    answer: said-{item}-{round}[3]

repeat 2 rounds over b-1..b-3
  tokens {item}
    prompt: long-{item}-{round}[700]
    answer: said-{item}-{round}[3]

repeat 2 rounds over c-1..c-2
  tokens {item}
    prompt: middle-{item}-{round}[260]
    answer: said-{item}-{round}[3]

repeat 1 rounds over a-1 b-1 c-1 a-2 b-2 c-2
  tokens {item}
    prompt: late-{item}[150]
    answer: late-said-{item}[3]
