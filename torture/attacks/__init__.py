"""Attacks by the kind of input. Each module registers its functions with `@attack`."""
