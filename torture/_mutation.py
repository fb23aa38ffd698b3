"""Random changes of texts and bytes."""

import numpy as np

LETTERS = "xv01.eE+-*/^() \t\n`'\"\\,;=<>[]{}#%&|:_\u00e9\u2028\u0660\x00\ud800t"


def mutated(text: str, rng: np.random.Generator, letters: str = LETTERS) -> str:
    """Return a text with a few random insertions, deletions, replacements and repetitions."""
    for _ in range(rng.integers(0, 6) if rng.random() < 0.5 else 0):
        index, end = sorted(rng.integers(0, len(text) + 1, 2))
        end = min(end, index + 20)
        letter = letters[rng.integers(len(letters))]
        match rng.integers(5):
            case 0:
                text = text[:index] + letter + text[index:]
            case 1:
                text = text[:index] + text[end:]
            case 2:
                text = text[:index] + letter + text[index + 1 :]
            case 3:
                text = text[:index] + text[index:end] * 3 + text[end:]
            case _:
                text = text[:index] + letter * int(10 ** rng.uniform(0, 5)) + text[index:]
    return text


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with a few random cuts and changes."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        if not data:
            return b""
        index = int(rng.integers(len(data)))
        match rng.integers(5):
            case 0:
                del data[index:]
            case 1:
                data[index] ^= 1 << int(rng.integers(8))
            case 2:
                data[index : index + 4] = rng.bytes(4)
            case 3:
                del data[index : index + int(rng.integers(1, 50))]
            case _:
                end = index + int(rng.integers(1, 50))
                data[index:index] = data[index:end]
    return bytes(data)
