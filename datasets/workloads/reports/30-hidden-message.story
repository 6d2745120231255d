# Report 30. A proxy puts a message behind what the user wrote. The client never sees it, so that its
# next prompt lacks it.
story How far does reuse reach if the client never resends a message?
setting tiny

options
  max_concurrency: 2
  max_context_tokens: 2048
  device_state_slots: 8
  host_state_slots: 32
  host_kv_capacity_bytes: 0
  max_private_continuations: 8
  max_shared_prefixes: 8
  max_long_anchors_per_continuation: 8

chat seen
  system: You are a helpful assistant.
  user: Let us plan the party. The lamp is red. What colour is the lamp?
  user: Anna is in Rome. Ben is in Oslo.
  answer: The lamp is red.

chat seen
  drop: 2 messages
  assistant: The lamp is red.
  user: I painted the lamp green. What colour is the lamp?
  user: Anna went to Lima. Ben is in Oslo.
  answer: The lamp is green.

chat seen
  drop: 2 messages
  assistant: The lamp is green.
  user: Now the lamp is blue. What colour is the lamp?
  user: Anna is in Paris. Ben is in Oslo.
  answer: The lamp is blue.
