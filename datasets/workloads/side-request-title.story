# A client asks for a title between two turns, by a prompt of its own: the instruction first, then the
# beginning of the first message.
story What does the next turn reuse after a title by a prompt of its own?
setting tiny-thinking

options
  max_context_tokens: 2048
  device_state_slots: 3

chat home
  system: You are a helpful assistant.
  user: Let us plan the trip. The lamp is red. Locker G14 holds 49. Grace went to Oslo. Locker H23 holds 56. David is in Paris. Locker K18 holds 36. Locker D24 holds 63. Locker C13 holds 11. Locker M16 holds 72. Henry went to Vienna. The cup is purple. Now the boat is purple. Jack went to Vienna. Now the table is yellow. I painted the bed brown. Locker D23 holds 39. Locker M14 holds 94. Locker B22 holds 85. I painted the door orange. Leo went to Vienna.
  user: I painted the hat gold. The kite is green. Locker D24 holds 94. Locker M16 holds 49. I painted the book black. Locker H22 holds 97. Locker K11 holds 97. The ball is white. The bike is green. Frank is in Vienna. Locker B18 holds 39. Emma is in Athens. Now the chair is white. Emma went to Paris. Locker M11 holds 42. The hat is green. The cup is purple. I painted the sofa red. Ben is in Cairo.
  user: Locker D22 holds 36. The table is pink. Locker F11 holds 88. Locker D23 holds 12. The table is brown. Now Grace is in Berlin. Ida is in Cairo. Locker K12 holds 22. I painted the book black. I painted the sofa blue. Locker C10 holds 96. David went to Madrid. Locker K25 holds 42. Locker F10 holds 95. Kate is in Delhi. Locker H14 holds 38. Now the book is gold. Locker K19 holds 56. Ida went to Dublin.
  user: Locker M11 holds 44. The table is yellow. The bed is grey. Ben is in Lima. Grace went to Delhi. Emma is in Delhi. Now Emma is in Oslo. Locker G18 holds 91. Locker G20 holds 57. Now the sofa is black. Now Ben is in Delhi. Leo went to Vienna. Locker H12 holds 90. David went to Tokyo. Carla is in Lima. Now the bike is grey. Emma is in Tokyo. The table is blue. David went to Delhi.
  user: Now Ida is in Paris. Now the sofa is purple. Locker K14 holds 65. Locker C25 holds 12. Locker F13 holds 34. The bike is purple. Locker G13 holds 79. Locker C20 holds 87. Locker F12 holds 27. Now the ball is blue. I painted the book blue. Locker K14 holds 75. The sofa is white. Jack is in Athens. Locker D25 holds 97. Jack is in Madrid. Grace is in Tokyo. Locker C11 holds 63. Locker B18 holds 48.
  user: Frank went to Cairo. Now the bag is black. Now Ida is in Berlin. I painted the box gold. Locker K24 holds 39. Locker G15 holds 56. The box is yellow. The table is purple. Locker G21 holds 92. Locker C16 holds 65. The kite is red. Locker B10 holds 59. David is in Lima. Locker D13 holds 49. Now the car is red. Grace is in Dublin. Locker H20 holds 97. Locker H22 holds 84. Locker G14 holds 16.
  user: Locker F24 holds 24. Locker M14 holds 59. Now the book is purple. Locker D18 holds 46. Jack went to Berlin. Frank went to Madrid. The book is green. Locker H13 holds 77. Grace is in Vienna. Locker H22 holds 31. I painted the kite blue. Locker M20 holds 89. Jack is in Tokyo. Locker G13 holds 95. Locker M20 holds 97. Now the sofa is blue. I painted the bed orange. Locker D22 holds 43. Kate is in Vienna.
  user: Locker C21 holds 29. The boat is purple. Now the hat is brown. Locker F15 holds 63. Locker G20 holds 13. Kate is in Cairo. The book is blue. I painted the car yellow. Ida is in Paris. Now David is in Cairo. Locker D12 holds 26. Now the table is blue. Kate is in Berlin. Locker B15 holds 56. David is in Berlin. The door is gold. Henry is in Oslo. Ben went to Berlin. Leo went to Lima.
  user: I painted the cup red. Locker F10 holds 30. Locker F23 holds 64. Locker C17 holds 96. Locker C18 holds 34. Locker H12 holds 82. Locker F21 holds 49. The door is blue. Leo is in Vienna. Locker F19 holds 88. Locker C25 holds 75. Locker D23 holds 94. Locker C23 holds 55. Locker F22 holds 96. Locker K21 holds 83. The table is gold. Locker K20 holds 71. The sofa is brown. Locker M18 holds 30. The chair is red. Locker C12 holds 26. What colour is the lamp?
  answer: The lamp.</think>The lamp is red. Locker H12 holds 92. Locker H12 holds 63. Locker F19 holds 59. Locker G17 holds 30. Emma went to Vienna. Locker M21 holds 64.
  max_output: 64 tokens

chat
  user: Write a short title for the plan. Answer in one short sentence. Let us plan the trip. The lamp is red. Locker B13 holds 43. Kate went to Rome.
  answer: The title.</think>The trip.
  max_output: 64 tokens

chat home
  user: I painted the lamp green. Anna went to Oslo. What colour is the lamp now?
  answer: The lamp.</think>The lamp is green.
  max_output: 64 tokens
