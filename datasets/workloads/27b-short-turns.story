# Five people in turns on one lane, three short turns each, with two images to spare on the Device
# and two on the Host: somebody gives way at almost every turn, and whether an image of 154 MB is
# worth its way to the Host for the few hundred tokens it stands for is a close question.
story Is a short context worth a place on the Host?
setting 27b

options
  max_context_tokens: 2048
  device_state_slots: 2
  host_state_slots: 2
  kv_capacity_tokens: 2048
  max_private_continuations: 5

repeat 3 rounds over user-1..user-5
  tokens {item}
    prompt: question-{item}-{round}[200]
    answer: answer-{item}-{round}[8]
