"""What every correct GPT obeys: one file a day, one function a law.

The rules judge any package that has the interface, know neither ``reference`` nor ``buggy``, and
take laws, hand-worked numbers and torch's own functions as their oracles. Importing this package
does not import torch; ``manifest`` does, and holds all rules.
"""
