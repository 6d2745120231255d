# After a title at the end of the conversation the next turn asks for what only the first one said:
# all pages of that turn are still on the lane, and a state that has read them is not.
story Are pages enough to go on from?
setting tiny-thinking

options
  max_context_tokens: 512
  device_state_slots: 3

chat home
  user: Let us plan the trip. The lamp is purple. Leo is in Paris. Henry is in Tokyo. Locker D24 holds 25. Locker H10 holds 71. Locker K21 holds 58. Locker H22 holds 53. Locker B10 holds 18. The sofa is green. The car is blue. Locker H21 holds 12. Locker B17 holds 41. Locker G11 holds 98. Grace is in Oslo. Locker B12 holds 15. The book is blue. Ben is in Delhi. Locker C20 holds 11. Locker B23 holds 24. Locker F17 holds 45. Leo went to Rome. Locker F14 holds 98. Frank is in Vienna. Locker K17 holds 83. What does locker K17 hold?
  answer: Locker K17.</think>Locker K17 holds 83.
  max_output: 32 tokens

chat title
  from: home
  session: -
  user: Give this plan a title.
  answer: The title.</think>The trip.
  max_output: 32 tokens

chat home
  user: What colour is the lamp?
  answer: The lamp.</think>The lamp is purple.
  max_output: 32 tokens
