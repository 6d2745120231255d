# One agent on one lane: a long instruction, then tool results of 2,100 tokens, twenty-four of them.
# Between two steps somebody outside asks for a summary of ten thousand tokens.
story What does an agent's growing context cost when it is never computed twice?
setting 27b

options
  max_context_tokens: 131072
  device_state_slots: 4
  kv_capacity_tokens: 262144

tokens agent
  prompt: instruction[12000] task[600]
  answer: plan[350]

repeat 12 rounds
  tokens agent
    after: 0.8 s
    prompt: tool-{round}[2100]
    answer: call-{round}[120]

tokens
  prompt: document[10000]
  answer: summary[200]

repeat 12 rounds
  tokens agent
    after: 0.8 s
    prompt: late-tool-{round}[2100]
    answer: late-call-{round}[120]
