"""Where does the small trained model in `datasets/tiny` come from, and what does it prove?

Owns the invented world that the model talks about, its tokenizer and chat template, the training
recipe, and the measurement that says which half of the cache each answer lives in (recurrent state
or KV pages). Does not know the engine, its pages or its slots: it trains and measures with
`transformers`, so that the engine and the model that judges it share no code.
"""
