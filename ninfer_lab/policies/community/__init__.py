"""What do the caches of other public engines do with the same requests?

Owns models of them, each from its public documents and papers, with the version named and what is
left out. None is that engine, and none was measured beside the others in one environment (PEER-2).
"""
