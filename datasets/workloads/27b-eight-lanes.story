# Eight conversations at once, three turns each, for eight lanes: a turn comes as soon as the answer
# before it has ended.
story How do eight conversations share one device?
setting 27b

options
  max_concurrency: 8
  max_context_tokens: 16384
  device_state_slots: 16
  kv_capacity_tokens: 131072

repeat 3 rounds over user-1..user-8
  tokens {item}
    at: 0 s
    prompt: question-{item}-{round}[700]
    answer: answer-{item}-{round}[160]
