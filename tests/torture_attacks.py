"""Attacks with a known outcome, for the tests of the harness."""

import os
import time

import numpy as np

from orthoreg import InputError
from torture._attack import Broken, attack


@attack("test", trials=3)
def refusal(rng, folder):
    """Wrong input is refused."""
    raise InputError("wrong")


@attack("test", trials=4)
def raw_error(rng, folder):
    """One trial in four raises an error that is not the package's own."""
    if int(folder.name != "") and rng.bit_generator.seed_seq.entropy[-1] == 2:
        np.zeros(3).reshape(2)


@attack("test", trials=2)
def broken(rng, folder):
    """A promise that does not hold."""
    raise Broken("it does not hold")


@attack("test", trials=2, seconds=0.3)
def busy(rng, folder):
    """Takes more CPU time than allowed."""
    while True:
        pass


@attack("test", trials=2, seconds=0.05)
def asleep(rng, folder):
    """Waits forever."""
    time.sleep(1000)


@attack("test", trials=2)
def dead(rng, folder):
    """Ends the process."""
    os._exit(3)


@attack("test", trials=2, memory=600 << 20)
def large(rng, folder):
    """The first trial takes more memory than allowed."""
    if rng.bit_generator.seed_seq.entropy[-1] == 0:
        np.ones(700 << 17)


@attack("test", trials=1)
def huge(rng, folder):
    """Reserves more memory than the process may."""
    np.ones(8 << 27)


@attack("test", trials=40)
def rare(rng, folder):
    """Two statements, one of which is true too rarely."""
    trial = rng.bit_generator.seed_seq.entropy[-1]
    return {"kept": (trial % 10 > 0, 0.9), "too rare": (trial % 2 > 0, 0.9)}
