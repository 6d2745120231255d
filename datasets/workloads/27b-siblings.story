# Six sessions that begin with the same 57,000 tokens and differ in the last line; nobody marks
# anything but where the instructions end.
story Is a long common head computed once for all siblings?
setting 27b

options
  max_context_tokens: 65536
  max_private_continuations: 6
  device_state_slots: 4

repeat 1 rounds over sibling-1..sibling-6
  tokens {item}
    prompt: head[57000] line-{item}[40]
    answer: said-{item}[30]
    marks: structure@57000
