"""The proof that the rules catch every way of breaking the reference."""
