"""Events to scores: the model protocol, model packages, and the scorer that runs a model over batches.

Only `torch_model`, `device` and the scorer's own files import torch; reading a package does not.
"""
