# Report 14. A coding session of 50,000 tokens and more. One-shot requests take all the places for
# images, so that something of the session gives way, and then it sends its next prompt.
story Is a checkpoint offered whose image is gone?
setting 27b

options
  max_context_tokens: 65536
  kv_capacity_tokens: 131072
  prefill_chunk_tokens: 8192
  device_state_slots: 1
  host_state_slots: 0
  max_private_continuations: 4

tokens coding
  prompt: tools[50000]
  answer: call[64]

tokens coding
  prompt: result[4000]
  answer: call-again[64]

repeat 2 rounds
  tokens
    prompt: one-shot-{round}[2000]
    answer: said-{round}[16]

tokens coding
  prompt: last-result[4000]
  answer: done[64]
