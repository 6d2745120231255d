# Report 29. The Host has one place for an image, a history lies there, and another of five tokens
# more has to leave the Device. Which of them is given up hangs on what copies and prefill take: on a
# card that prefills slowly the longer one is worth the copy. Then it comes back.
story Is a history copied to the Host in place of one that is little shorter?
setting 27b

options
  max_context_tokens: 4096
  kv_capacity_tokens: 8192
  device_state_slots: 1
  host_state_slots: 1
  max_private_continuations: 5

tokens shorter
  session: -
  prompt: shorter[300]
  answer: said-1[8]

tokens longer
  session: -
  prompt: longer[305]
  answer: said-2[8]

tokens bound
  prompt: bound[600]
  answer: said-3[8]

tokens
  prompt: one-shot[10]
  answer: said-4[8]

tokens longer
  session: -
  prompt: more[20]
  answer: said-5[8]
