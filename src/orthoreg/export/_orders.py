"""Equations of second order: theta'' = ... where theta' = theta_dot is given."""

from collections.abc import Mapping, Sequence


def implied(velocity_of: Mapping[str, str]) -> dict[str, str]:
    """For each velocity that is named after its position, theta_dot, that position."""
    return {
        velocity: position
        for position, velocity in velocity_of.items()
        if velocity.rstrip("_") == f"{position}_dot".rstrip("_")
    }


def equation_names(outputs: Sequence[str], velocity_of: Mapping[str, str]) -> tuple[str, ...]:
    """Of what each equation is the derivative: theta' for theta_dot, of which it is theta''."""
    positions = implied(velocity_of)
    return tuple(f"{positions[name]}'" if name in positions else name for name in outputs)


def learned_equations(outputs: Sequence[str], velocity_of: Mapping[str, str]) -> list[int]:
    """The places of the equations that are not given."""
    return [c for c, name in enumerate(outputs) if name not in velocity_of]


def printed_equations(outputs: Sequence[str], velocity_of: Mapping[str, str]) -> list[int]:
    """The places of the equations that say something: theta' = theta_dot does not."""
    silent = set(implied(velocity_of).values())
    return [c for c, name in enumerate(outputs) if name not in silent]
