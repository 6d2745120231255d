# Report 26. A session of 231,000 tokens fills most of the Device. Another of 60,000 comes in between:
# both do not fit, and the Host takes what is missing.
story Does a session of 231,000 tokens come back after a side request?
setting 27b

options
  max_context_tokens: 262144
  kv_capacity_tokens: 262144
  prefill_chunk_tokens: 16384

tokens main
  prompt: code[231000]
  answer: plan[16]

tokens
  prompt: document[60000]
  answer: summary[16]

tokens main
  prompt: result[500]
  answer: step[16]
