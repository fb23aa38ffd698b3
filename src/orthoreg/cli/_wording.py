"""Errors of the library in the words of the command line.

A message names an argument as its caller in Python writes it: `group=...`, `delimiter=';'`, or at
the start of a sentence, `sparsity must be ...`. Here, where errors are printed, these names become
the options of the command that was called. What a user wrote stands in quotes and stays as it is.
"""

import re
from collections.abc import Mapping

_OTHER_NAMES = {"x0": "start", "u": "inputs", "augmentation": "residual"}
_PARTS = {
    r"\bPolynomial\(": "poly(",
    r"\bFourier\(": "fourier(",
    r"\bmath\.inf\b": "inf",
    r"\bPhysics\(equations=\.\.\.\)": "--known",
    r"\bPhysics\(values=\.\.\.\)": "--value",
    r"\bPhysics\(bounds=\.\.\.\)": "--bound",
    r"\bPhysics\(relations=\.\.\.\)": "--relation",
    r"\bPhysics\((\w+)=\.\.\.\)": r"'\1' in --physics",
    r"\bphysics=\.\.\. contradicts": "What is known contradicts",
    r"\bphysics='([^']*)'": r"--physics '\1'",
    r"\b(Automatic|\w*FiniteDifference|LocalPolynomial|SavitzkyGolay|SmoothingSpline)\([^()]*\)"
    r"(?= needs)": "the estimate of derivatives",
}
_QUOTED = re.compile(r"(?<![\w)])'[^']*'(?!\w)")
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
_PYTHON = re.compile(r"\b[A-Z]\w*\(|\b[a-z]\w*=|\blearning_rate\b")
_ANOTHER_PRESET = "Choose another --preset."


def in_options(message: str, options: Mapping[str, str]) -> str:
    """The message with options, such as {'group': '--group'}, in the place of arguments.

    Advice about parts that no option sets is left out; a command with presets advises another.
    """
    written: list[str] = []

    def hide(found: re.Match[str]) -> str:
        written.append(found.group())
        return f"\0{len(written) - 1}\0"

    text = _QUOTED.sub(hide, message)
    for part, words in _PARTS.items():
        text = re.sub(part, words, text)
    known = dict(options)
    known |= {name: options[other] for name, other in _OTHER_NAMES.items() if other in options}
    if known:
        text = _with_options(text, known)
    fault, *advice = _SENTENCE.split(text)
    usable = [sentence for sentence in advice if not _PYTHON.search(sentence)]
    if len(usable) < len(advice) and "preset" in options:
        usable.append(_ANOTHER_PRESET)
    return re.sub(r"\0(\d+)\0", lambda found: written[int(found[1])], " ".join([fault, *usable]))


def _with_options(text: str, options: Mapping[str, str]) -> str:
    longest_first = sorted(options, key=len, reverse=True)  # 'time_unit' before 'time'
    name = rf"(?<![\w.-])({'|'.join(map(re.escape, longest_first))})"
    text = re.sub(  # a list of names, inputs=['u']
        rf"{name}=\[(\0\d+\0)\]", lambda found: f"{options[found[1]]} {found[2]}", text
    )
    text = re.sub(rf"{name}=(?:\.\.\.|True\b)", lambda found: options[found[1]], text)
    text = re.sub(
        rf"{name}=([^\s,;()]*[^\s,;().])", lambda found: f"{options[found[1]]} {found[2]}", text
    )
    named = rf"((?:^|(?<=[.?!] )){name}(?: and {name})?)(?= must\b)"
    return re.sub(named, lambda found: re.sub(name, lambda word: options[word[1]], found[0]), text)
