# Two people talk to the small model in turns, on one lane, with room for both. One edits a message,
# the other asks for an answer again, and a title is asked for outside both sessions.
story Do two conversations in turns keep their caches?
setting tiny

options
  max_context_tokens: 512
  device_state_slots: 6
  kv_capacity_tokens: 2048
  max_private_continuations: 4

chat anna
  user: Let us plan the trip. Anna is in Rome. Where is Anna?
  answer: Anna is in Rome.
  max_output: 24 tokens

chat ben
  user: Let us plan the party. The door is blue. What colour is the door?
  answer: The door is blue.
  max_output: 24 tokens

chat anna
  after: 2 s
  user: Anna went to Oslo. Where is Anna?
  answer: Anna is in Oslo.
  max_output: 24 tokens

chat ben
  user: I painted the door green. What colour is the door?
  answer: The door is green.
  max_output: 24 tokens

# Anna edits her last message: it and its answer leave the history.
chat anna
  drop: 2 messages
  user: Now Anna is in Lima. Where is Anna?
  answer: Anna is in Lima.
  max_output: 24 tokens

# Ben asks again for the answer he got.
chat ben
  drop: 1 messages
  answer: The door is green.
  max_output: 24 tokens

# A title, asked with the whole conversation in front and outside the session.
chat title
  from: ben
  session: -
  user: Give this plan a title.
  answer: The party.
  max_output: 24 tokens

chat ben
  user: Thank you.
  answer: You are welcome.
  max_output: 24 tokens
