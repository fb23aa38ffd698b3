"""A fitted field as a Functional Mock-up Unit, FMI 2.0 for model exchange."""

import hashlib
import io
import platform
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

from .._common.errors import InputError
from ..field.hybrid import HybridField
from ._languages import to_c

_PLATFORMS = {"Linux": ("linux64", ".so"), "Darwin": ("darwin64", ".dylib")}


def to_fmu(
    field: HybridField,
    outputs: Sequence[str],
    starts: Sequence[float],
    *,
    name: str,
    clock: str = "",
) -> bytes:
    """Return the contents of a `.fmu` file: description, C source and compiled library.

    The library is compiled for this machine. `starts` are the default initial states.
    """
    variables = field.features.variables
    inputs = [variable for variable in variables[len(outputs) :] if variable != clock]
    source = to_c(field, outputs)
    guid = hashlib.sha256(f"{name}{list(variables)}{source}".encode()).hexdigest()[:32]
    source += (
        f"\n#define N_STATES {len(outputs)}\n#define N_INPUTS {len(inputs)}\n"
        f'#define HAS_CLOCK {int(bool(clock))}\n#define GUID "{guid}"\n'
        f"static const double start_values[] = {{{', '.join(map(repr, map(float, starts)))}}};\n"
    )
    source += files("orthoreg.export").joinpath("fmi2.c").read_text(encoding="utf-8")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", _description(name, guid, outputs, inputs, starts))
        archive.writestr("sources/all.c", source)
        archive.writestr(*_library(source, name))
    return packed.getvalue()


def _library(source: str, name: str) -> tuple[str, bytes]:
    """Return the compiled library and its path in the unit."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or platform.system() not in _PLATFORMS:
        raise InputError(
            "to_fmu() compiles the model and needs a C compiler on Linux or macOS; none was found. "
            "Use to_c() or to_modelica()."
        )
    folder, ending = _PLATFORMS[platform.system()]
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "all.c").write_text(source, encoding="utf-8")
        command = [compiler, "-std=c99", "-O2", "-shared", "-fPIC", "all.c", "-o", "out", "-lm"]
        result = subprocess.run(command, cwd=directory, capture_output=True, text=True)
        if result.returncode != 0:
            raise InputError(f"The C compiler rejected the model: {result.stderr.strip()[:500]}")
        return f"binaries/{folder}/{name}{ending}", Path(directory, "out").read_bytes()


def _description(
    name: str, guid: str, states: Sequence[str], inputs: Sequence[str], starts: Sequence[float]
) -> bytes:
    """Return modelDescription.xml with the states, their derivatives and the inputs, in this
    order.
    """
    root = ElementTree.Element(
        "fmiModelDescription", fmiVersion="2.0", modelName=name, guid=guid,
        generationTool="orthoreg", numberOfEventIndicators="0", variableNamingConvention="flat",
        generationDateAndTime=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )  # fmt: skip
    exchange = ElementTree.SubElement(root, "ModelExchange", modelIdentifier=name)
    sources = ElementTree.SubElement(exchange, "SourceFiles")
    ElementTree.SubElement(sources, "File", name="all.c")
    listed = ElementTree.SubElement(root, "ModelVariables")
    n = len(states)

    def variable(reference: int, name: str, real: dict[str, str], **attributes: str) -> None:
        attributes = {"name": name, "valueReference": str(reference), **attributes}
        ElementTree.SubElement(
            ElementTree.SubElement(listed, "ScalarVariable", attributes), "Real", real
        )

    names = _distinct(states, inputs)
    for i in range(n):
        start = {"start": repr(float(starts[i]))}
        variable(i, names[i], start, causality="output", variability="continuous", initial="exact")
    for i in range(n):
        of = {"derivative": str(i + 1)}
        variable(n + i, f"der({names[i]})", of, causality="local", variability="continuous")
    for i in range(len(inputs)):
        start = {"start": "0.0"}
        variable(2 * n + i, names[n + i], start, causality="input", variability="continuous")
    structure = ElementTree.SubElement(root, "ModelStructure")
    for what, first in (("Outputs", 1), ("Derivatives", n + 1), ("InitialUnknowns", n + 1)):
        unknowns = ElementTree.SubElement(structure, what)
        for i in range(n):
            ElementTree.SubElement(unknowns, "Unknown", index=str(first + i))
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _distinct(states: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Return distinct names without line breaks and without characters that XML does not allow."""
    names: list[str] = []
    for name in (*states, *inputs):
        plain = "".join(letter for letter in " ".join(name.split()) if letter.isprintable()) or "x"
        chosen, count = plain, 1
        while chosen in names or chosen.startswith("der("):
            count += 1
            chosen = f"{plain.removeprefix('der(')}_{count}"
        names.append(chosen)
    return names
