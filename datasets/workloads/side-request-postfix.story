# A client asks for a title between two turns, as one more message at the end of the conversation, and
# goes on as if it had not.
story What does the next turn reuse after a title that goes on from the conversation?
setting tiny-thinking

options
  max_context_tokens: 2048
  device_state_slots: 3

chat home
  system: You are a helpful assistant.
  user: Let us plan the trip. The lamp is red. Ida is in Tokyo. Frank is in Athens. Now Kate is in Vienna. Jack went to Rome. Kate went to Lima. Henry is in Paris. Now the table is blue. Carla is in Cairo. Grace went to Madrid. Locker H13 holds 51. Now Ida is in Paris. Leo is in Cairo. Ben went to Cairo. Now the boat is orange. Jack is in Dublin. Ben is in Berlin. Ida went to Athens. The hat is pink. Locker F12 holds 62.
  user: Now Grace is in Paris. David went to Lima. Henry is in Cairo. The door is white. Locker F10 holds 60. Locker H14 holds 77. The bed is purple. The door is blue. The hat is purple. Locker K23 holds 73. Kate went to Berlin. Jack is in Madrid. Grace is in Paris. Locker B20 holds 59. Locker F17 holds 53. I painted the bag black. Now the boat is orange. Now David is in Lima. Locker D10 holds 95.
  user: Locker D16 holds 73. I painted the cup yellow. Locker B10 holds 88. Frank is in Oslo. Locker D14 holds 46. Locker M11 holds 28. The table is blue. Locker C17 holds 61. Now David is in Tokyo. Emma went to Paris. Locker C13 holds 62. Locker D21 holds 92. I painted the ball pink. Locker K25 holds 66. Now the bag is green. David went to Delhi. Leo went to Dublin. Ben went to Rome. Grace is in Vienna.
  user: Locker K20 holds 20. Locker G19 holds 29. Now Emma is in Tokyo. Henry went to Rome. Locker K14 holds 61. Carla is in Cairo. Now Jack is in Rome. Locker K11 holds 32. I painted the bag black. Kate is in Cairo. Locker B12 holds 78. The bed is black. Locker G13 holds 77. The hat is black. Locker H23 holds 80. The ball is green. Now the ball is blue. The chair is green. Locker B13 holds 39.
  user: Locker F15 holds 45. Locker D11 holds 21. Locker F11 holds 59. Locker D16 holds 94. The door is orange. Carla is in Lima. Locker M24 holds 56. I painted the bag blue. The ball is grey. Now the bike is green. Locker M24 holds 35. Ben went to Delhi. Now Grace is in Delhi. Locker C16 holds 61. The hat is yellow. Kate is in Athens. Now Kate is in Delhi. The boat is yellow. Locker H13 holds 87.
  user: The ball is red. Locker H25 holds 54. Locker B24 holds 70. Ben is in Tokyo. Ida is in Vienna. Henry is in Rome. Locker D16 holds 43. Now Jack is in Delhi. I painted the box red. I painted the chair red. Locker H18 holds 86. Ben went to Paris. Locker F12 holds 28. Ida went to Paris. Now the ball is blue. David went to Dublin. David went to Lima. Locker C14 holds 14. Locker D13 holds 78.
  user: Locker F16 holds 55. Grace went to Rome. Locker D23 holds 41. Henry went to Delhi. Frank is in Tokyo. Kate is in Delhi. Ben is in Oslo. Locker M22 holds 57. Now Carla is in Cairo. Now Jack is in Cairo. Locker K24 holds 60. I painted the chair yellow. The cup is red. Grace went to Rome. Now Carla is in Athens. Locker B21 holds 57. Locker F15 holds 21. Locker B11 holds 10. Ida is in Delhi.
  user: Locker G19 holds 30. The sofa is black. Locker K13 holds 18. Kate went to Oslo. David went to Cairo. The hat is red. Now Jack is in Madrid. Leo went to Delhi. Now Carla is in Delhi. Now Leo is in Delhi. Jack is in Cairo. Locker F10 holds 98. Locker C24 holds 43. Locker D25 holds 81. Locker K23 holds 99. Locker C15 holds 67. I painted the chair orange. Locker B11 holds 43. Locker F25 holds 72.
  user: Jack went to Athens. Locker F13 holds 65. Locker D10 holds 70. Locker B19 holds 80. The chair is orange. Locker C20 holds 28. Locker B19 holds 89. Frank went to Vienna. Now Emma is in Oslo. Locker K12 holds 32. Grace is in Berlin. Locker M23 holds 20. Locker M11 holds 57. Locker K16 holds 57. Now the hat is gold. Locker M10 holds 12. Emma is in Berlin. The cup is brown. Locker H13 holds 79. Emma is in Oslo. Jack is in Tokyo. What colour is the lamp?
  answer: The lamp.</think>The lamp is red. Locker K12 holds 78. Locker F11 holds 95. Henry went to Athens. Leo is in Tokyo. Jack is in Athens. Emma went to Athens. Ida is in Cairo.
  max_output: 64 tokens

chat title
  from: home
  session: -
  user: Give this plan a title. Write a short title for the plan. Answer in one short sentence.
  answer: The title.</think>The trip.
  max_output: 64 tokens
  purpose: side_request

chat home
  user: I painted the lamp green. Anna went to Oslo. What colour is the lamp now?
  answer: The lamp.</think>The lamp is green.
  max_output: 64 tokens
