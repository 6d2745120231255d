# The title comes a turn later than in side-request-short-title.
story Does a title do less harm when it is put off?
setting tiny-thinking

options
  max_context_tokens: 512
  device_state_slots: 3

chat home
  user: Let us plan the trip. The lamp is red. Ida went to Dublin. Locker H13 holds 73. Locker C19 holds 75. Locker H10 holds 41. Locker B21 holds 11. Henry is in Tokyo. The hat is blue. Locker K13 holds 19. Locker F10 holds 88. Locker D22 holds 42. Locker H12 holds 47. Locker B15 holds 70. The boat is white. David went to Berlin. What colour is the lamp?
  answer: The lamp.</think>The lamp is red.
  max_output: 32 tokens

chat home
  user: Now the lamp is green. What colour is the lamp now?
  answer: The lamp.</think>The lamp is green.
  max_output: 32 tokens

chat
  user: Let us plan the trip. The lamp is red. The door is blue. Write a short title for the plan.
  answer: The title.</think>The trip.
  max_output: 32 tokens

chat home
  user: I painted the lamp pink. What colour is the lamp?
  answer: The lamp.</think>The lamp is pink.
  max_output: 32 tokens
