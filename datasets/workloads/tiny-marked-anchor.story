# A long conversation is cut back to where its second message ended, which its caller has marked, and
# goes on otherwise; then once more. The engine proposes no anchors of its own.
story What is computed again when a conversation goes back to a place that was marked?
setting tiny

options
  max_context_tokens: 2048
  prefill_chunk_tokens: 512
  device_state_slots: 3
  max_private_continuations: 3
  host_state_slots: 0
  host_kv_capacity_bytes: 0
  automatic_private_anchors: 0
  endpoint_anchors: off

tokens talk
  prompt: instructions[400] papers[500] question[40]
  answer: reply[12]
  marks: anchor@900

tokens talk
  drop: 52 tokens
  prompt: another-question[30]
  answer: another-reply[12]

tokens talk
  drop: 42 tokens
  prompt: third-question[25]
  answer: third-reply[12]
