# The short conversation, and a title as one more message at its end.
story What does a title at its end cost a short conversation?
setting tiny-thinking

options
  max_context_tokens: 512
  device_state_slots: 3

chat home
  system: You are a helpful assistant.
  user: Let us plan the trip. The lamp is red. Locker G13 holds 80. I painted the bike blue. The hat is green. Locker H23 holds 91. Ida went to Tokyo. Locker M11 holds 47. Locker D12 holds 96. The kite is green. Henry went to Tokyo. Kate is in Delhi. Locker F16 holds 13. Carla went to Madrid.
  user: Locker G10 holds 62. Locker G10 holds 35. Locker B19 holds 53. Locker H25 holds 87. Locker K22 holds 38. The bike is green. The bag is purple. Locker M16 holds 10. I painted the car yellow. Locker H17 holds 47. Now the ball is orange. Kate went to Vienna. What colour is the lamp?
  answer: The lamp.</think>The lamp is red.
  max_output: 32 tokens

chat title
  from: home
  session: -
  user: Give this plan a title.
  answer: The title.</think>The trip.
  max_output: 32 tokens
  purpose: side_request

chat home
  user: I painted the lamp green. What colour is the lamp?
  answer: The lamp.</think>The lamp is green.
  max_output: 32 tokens
