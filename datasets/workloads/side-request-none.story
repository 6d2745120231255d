# A conversation of two turns, and nothing between them: what the others are compared with.
story What does the next turn reuse when nobody asks for a title?
setting tiny-thinking

options
  max_context_tokens: 2048
  device_state_slots: 3

chat home
  system: You are a helpful assistant.
  user: Let us plan the trip. The lamp is red. Locker B11 holds 75. Now Henry is in Athens. Locker K14 holds 31. Locker C21 holds 76. Locker F20 holds 35. Now the sofa is purple. Locker H25 holds 66. Kate went to Madrid. Jack is in Dublin. Now the book is gold. Ben went to Delhi. Locker K22 holds 48. Locker F18 holds 73. Locker F18 holds 47. Now the ball is green. The bag is white. Locker F21 holds 39. Locker F21 holds 75. Locker B12 holds 97.
  user: Ben is in Madrid. The boat is green. Locker D19 holds 74. Now Henry is in Rome. Locker B17 holds 96. Locker K23 holds 90. Locker H12 holds 17. Locker K24 holds 73. Now the boat is yellow. Emma went to Oslo. Leo went to Lima. The sofa is red. Locker B19 holds 35. Locker K24 holds 38. Now the hat is white. Locker M15 holds 89. Locker M13 holds 77. Locker G22 holds 37. Now David is in Rome.
  user: I painted the kite green. The boat is purple. I painted the hat black. Locker G21 holds 71. Carla went to Lima. Locker K10 holds 83. Locker C20 holds 15. Now Frank is in Delhi. The boat is purple. The door is black. The chair is purple. Locker F19 holds 44. Locker M23 holds 84. Leo went to Delhi. Now Ida is in Athens. Ben is in Athens. Emma went to Vienna. Locker B13 holds 62. Locker K21 holds 24.
  user: Henry went to Dublin. Now the chair is green. Locker G16 holds 16. Locker K10 holds 29. Now Carla is in Madrid. Frank is in Cairo. Locker G21 holds 36. Now the bike is green. Locker C16 holds 72. Locker F14 holds 48. Locker M16 holds 25. Locker H20 holds 85. The table is grey. Locker K20 holds 17. Locker F25 holds 18. Now David is in Rome. Ida is in Paris. Locker M10 holds 40. Locker M12 holds 80.
  user: I painted the car brown. Locker F12 holds 86. Ben went to Tokyo. Now Kate is in Oslo. Frank went to Madrid. David went to Paris. Locker H21 holds 10. Locker H25 holds 65. Locker G20 holds 62. Locker F12 holds 77. Now Grace is in Oslo. Leo went to Madrid. Locker K18 holds 99. Now the kite is purple. Locker C11 holds 41. Locker G21 holds 19. Emma went to Tokyo. Kate went to Berlin. The boat is red.
  user: The bed is black. Locker D11 holds 45. Now the sofa is pink. I painted the bag grey. The bike is white. Now Frank is in Lima. Locker M11 holds 94. The cup is brown. Emma went to Athens. Now Carla is in Cairo. The box is red. The ball is red. Ida went to Tokyo. Locker G17 holds 94. Henry went to Rome. Carla went to Vienna. Locker G19 holds 61. Ben went to Berlin. The bike is purple.
  user: I painted the sofa pink. Ben went to Paris. Now Ben is in Paris. Locker G10 holds 99. Grace is in Athens. Locker K14 holds 23. Locker F14 holds 53. Locker B12 holds 29. Locker C11 holds 45. Locker H17 holds 13. The ball is white. Locker H10 holds 48. Now the door is orange. Locker G12 holds 26. Locker H16 holds 92. Leo went to Paris. Locker B17 holds 30. Locker D12 holds 33. Now Ben is in Paris.
  user: Locker G24 holds 48. Locker G19 holds 98. Locker B19 holds 63. I painted the boat gold. Kate went to Dublin. I painted the bag green. Locker G19 holds 43. Locker B11 holds 48. The ball is red. Ben is in Oslo. Locker D19 holds 91. The box is gold. Emma went to Athens. Now Leo is in Lima. Locker H10 holds 77. Locker D25 holds 21. Ida went to Tokyo. Now Kate is in Vienna. Frank is in Tokyo.
  user: The chair is purple. Jack is in Rome. Frank is in Rome. Locker F16 holds 72. Locker H17 holds 86. Locker B22 holds 97. Locker H18 holds 17. Carla went to Madrid. Locker B24 holds 62. Locker G24 holds 51. Now the ball is green. Locker M10 holds 22. Jack went to Lima. Locker F19 holds 97. Locker G19 holds 91. The bed is blue. Locker M20 holds 29. Locker K11 holds 25. Locker M25 holds 24. Frank went to Dublin. Locker M12 holds 97. What colour is the lamp?
  answer: The lamp.</think>The lamp is red. Locker D10 holds 61. Locker G13 holds 26. Locker G23 holds 16. Leo is in Berlin. Locker C22 holds 40. Locker H12 holds 55. Locker K14 holds 38.
  max_output: 64 tokens

chat home
  user: I painted the lamp green. Anna went to Oslo. What colour is the lamp now?
  answer: The lamp.</think>The lamp is green.
  max_output: 64 tokens
