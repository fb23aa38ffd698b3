"""Attacks, grouped by kind of input. Each module registers its functions with `@attack`."""
