# Report 20. A tool chain over raw prompts: every request is the one before, the call as the client
# writes it, and what the tool said, about 190 tokens. The written call differs from what the model
# said, so that no endpoint is met again.
story How far does a tool chain reach back for what it has computed?
setting 27b

options
  max_context_tokens: 16384
  device_state_slots: 6

tokens chain
  prompt: instructions[12529] task[171]
  answer: call-1[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-1[42] result-1[146]
  answer: call-2[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-2[42] result-2[153]
  answer: call-3[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-3[42] result-3[149]
  answer: call-4[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-4[42] result-4[145]
  answer: call-5[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-5[42] result-5[152]
  answer: call-6[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-6[42] result-6[148]
  answer: call-7[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-7[42] result-7[144]
  answer: call-8[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-8[42] result-8[151]
  answer: call-9[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-9[42] result-9[147]
  answer: call-10[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-10[42] result-10[143]
  answer: call-11[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-11[42] result-11[150]
  answer: call-12[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-12[42] result-12[146]
  answer: call-13[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-13[42] result-13[153]
  answer: call-14[40]
  marks: structure@12529
  anchor_prompt_end: on

tokens chain
  drop: 40 tokens
  prompt: written-14[42] result-14[149]
  answer: call-15[40]
  marks: structure@12529
  anchor_prompt_end: on
