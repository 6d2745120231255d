# A client asks for a title between two turns, with a prompt of its own and outside the session.
# One slot to spare: the conversation waits on the Host meanwhile.
story What does the next turn reuse after a side request?
setting tiny

options
  max_context_tokens: 512
  device_state_slots: 1

chat home
  user: Let us plan the picnic. The lamp is red. Locker K17 holds 83. What colour is the lamp?
  answer: The lamp is red.
  max_output: 24 tokens

chat
  user: Let us plan the picnic. Give this conversation a title.
  answer: The picnic.
  max_output: 24 tokens

chat home
  user: Now the lamp is green. What colour is the lamp?
  answer: The lamp is green.
  max_output: 24 tokens
