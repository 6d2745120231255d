# The conversation of side-request-none with a tenth of the facts, short enough for the small model to
# answer every question right.
story What does the next turn of a short conversation reuse?
setting tiny-thinking

options
  max_context_tokens: 512
  device_state_slots: 3

chat home
  system: You are a helpful assistant.
  user: Let us plan the trip. The lamp is red. I painted the door brown. Locker G11 holds 39. Now the book is blue. Locker C15 holds 93. Grace went to Rome. Locker G19 holds 18. Grace is in Paris. Locker C21 holds 23. Now Frank is in Madrid. Now Ida is in Dublin.
  user: Now the boat is red. Locker F24 holds 86. Now Ben is in Tokyo. Carla went to Oslo. The ball is black. Now the box is orange. Locker H14 holds 59. Frank went to Dublin. Now Jack is in Paris. Locker C19 holds 28. What colour is the lamp?
  answer: The lamp.</think>The lamp is red.
  max_output: 32 tokens

chat home
  user: I painted the lamp green. What colour is the lamp?
  answer: The lamp.</think>The lamp is green.
  max_output: 32 tokens
