# Report 35. Two clients see the root at every turn. One resends another history than it was answered,
# the other resends its own, by a session that must leave the first alone, and there is no room for
# both.
story Is it the history or the room, if every turn starts from the root?
setting 27b

options
  max_context_tokens: 8192
  kv_capacity_tokens: 8192
  device_state_slots: 0
  host_state_slots: 0
  host_kv_capacity_bytes: 0

repeat 3 rounds
  tokens
    prompt: clock-{round}[4] history[3000]
    answer: said[8]

tokens home
  prompt: history[3000]
  answer: said[8]

tokens visitor
  from: home
  prompt: question[40]
  answer: reply[8]
