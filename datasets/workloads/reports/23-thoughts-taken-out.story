# Report 23. The model thinks before it answers, and the client's next prompt has the answer without
# the thoughts.
story What does a turn reuse if the thoughts of the turn before are gone?
setting tiny-thinking

options
  max_context_tokens: 512
  kv_capacity_tokens: 1024
  device_state_slots: 3

chat home
  system: You are a helpful assistant.
  user: Let us plan the party. The lamp is red. Locker K17 holds 83. What colour is the lamp?
  answer: The lamp is red.</think>The lamp is red.

chat home
  user: I painted the lamp green. What colour is the lamp?
  answer: The lamp is green.</think>The lamp is green.

chat home
  user: What does locker K17 hold?
  answer: Locker K17 holds 83.</think>Locker K17 holds 83.
