# Eight instructions in strict turns, four rounds, one in flight, no session, another tail each time;
# as published for one lane, with every length a tenth of it. The prompt's structure ends behind the
# instruction; the protocol's own marker stands at the prompt's end.
story What is reused of eight prefixes that come in turns?
setting 27b

options
  max_context_tokens: 8192
  device_state_slots: 16
  max_private_continuations: 8
  max_shared_prefixes: 8

repeat 4 rounds over preamble-1..preamble-8
  tokens
    prompt: {item}[143] tail-{round}-{item}[3]
    answer: out-{round}-{item}[16]
    marks: structure@143 automatic@146
