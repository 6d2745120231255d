# The short conversation, and a title by a prompt of its own.
story What does a title of its own cost a short conversation?
setting tiny-thinking

options
  max_context_tokens: 512
  device_state_slots: 3

chat home
  system: You are a helpful assistant.
  user: Let us plan the trip. The lamp is red. Locker B23 holds 74. Locker C15 holds 94. I painted the door grey. Ida is in Athens. Jack went to Oslo. Now the box is yellow. Ida went to Vienna. Grace is in Vienna. Locker M18 holds 87. The bed is grey. Now the table is white.
  user: Frank is in Lima. Henry went to Delhi. I painted the ball white. Now the bed is pink. Jack is in Tokyo. Locker M11 holds 46. Now the book is black. The door is purple. Locker G11 holds 97. The kite is brown. Locker M21 holds 31. What colour is the lamp?
  answer: The lamp.</think>The lamp is red.
  max_output: 32 tokens

chat
  user: Let us plan the trip. The lamp is red. The door is blue. Write a short title for the plan.
  answer: The title.</think>The trip.
  max_output: 32 tokens

chat home
  user: I painted the lamp green. What colour is the lamp?
  answer: The lamp.</think>The lamp is green.
  max_output: 32 tokens
