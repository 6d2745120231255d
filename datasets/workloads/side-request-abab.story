# Two conversations take turns on one lane: A, B, A again, B again.
story Do two conversations in turns find their prefixes again?
setting tiny-thinking

options
  max_context_tokens: 512
  device_state_slots: 3

chat a
  user: Let us plan the trip. The lamp is red. Locker G18 holds 37. Locker C12 holds 81. Locker M11 holds 52. Locker F22 holds 11. The ball is red. Carla went to Tokyo. Carla went to Berlin. Ida is in Vienna. Locker M25 holds 93. The bike is gold. The car is orange. Ben went to Madrid. What colour is the lamp?
  answer: The lamp.</think>The lamp is red.
  max_output: 32 tokens

chat b
  user: We plan the party. The door is blue. Locker K10 holds 41. Locker M20 holds 37. Locker B13 holds 72. Locker F23 holds 30. The bed is blue. Carla went to Vienna. Locker G24 holds 23. Kate is in Berlin. The ball is brown. Locker F25 holds 42. Carla went to Madrid. Carla went to Paris. Carla went to Paris. Locker M21 holds 46. Henry went to Dublin. What colour is the door?
  answer: The door.</think>The door is blue.
  max_output: 32 tokens

chat a
  user: Now the lamp is green. What colour is the lamp now?
  answer: The lamp.</think>The lamp is green.
  max_output: 32 tokens

chat b
  user: I painted the door white. What colour is the door?
  answer: The door.</think>The door is white.
  max_output: 32 tokens
