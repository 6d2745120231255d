# Twelve people in turns, each with a few short turns, and a Device that keeps three of them: what
# gives way goes to the Host or is computed again, and for contexts this short either may be cheaper.
story Is a short context worth a place on the Host?
setting 27b

options
  max_context_tokens: 4096
  device_state_slots: 3
  host_state_slots: 6
  kv_capacity_tokens: 8192
  max_private_continuations: 12

repeat 3 rounds over user-1..user-12
  tokens {item}
    prompt: question-{item}-{round}[180]
    answer: answer-{item}-{round}[24]

repeat 2 rounds over user-2 user-5 user-7 user-11
  tokens {item}
    prompt: late-{item}-{round}[420]
    answer: late-answer-{item}-{round}[24]
