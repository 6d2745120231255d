# Report 8. After each of its turns a client sends one request of 53 tokens that belongs to nothing.
story Does a short one-shot request push a conversation out?
setting 27b

options
  max_context_tokens: 16384
  max_private_continuations: 2

repeat 3 rounds
  tokens conversation
    prompt: turn-{round}[4000]
    answer: reply-{round}[100]
  tokens
    prompt: one-shot-{round}[53]
    answer: title-{round}[8]
