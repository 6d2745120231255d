# Three instructions, three questions each; nobody marks anything, and no lineage keeps anchors.
story Do several questions share one instruction?
setting tiny

options
  max_context_tokens: 256
  kv_capacity_tokens: 8192
  device_state_slots: 24
  max_private_continuations: 16
  automatic_private_anchors: 0

repeat 1 rounds over red blue green
  chat
    system: The lamp is {item}. The door is open.
    user: What colour is the lamp?
    answer: The lamp is {item}.
  chat
    system: The lamp is {item}. The door is open.
    user: Is the door open?
    answer: Yes.
  chat
    system: The lamp is {item}. The door is open.
    user: What colour is the lamp?
    answer: The lamp is {item}.
