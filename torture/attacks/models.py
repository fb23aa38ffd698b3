"""Model files with damaged bytes, or with changed content and a valid checksum."""

import contextlib
import copy
import functools
import hashlib
import io
import json
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from torture._attack import Broken, attack
from torture._mutation import damaged, mutated

_MANIFEST, _ARRAYS, _DIGEST = "manifest.json", "arrays.safetensors", "digest.sha256"
_VALUES = (
    None, True, 0, -1, 2**63, 10**400, 1e308, -0.5, "", "x0", "\x1b[31mred", "\ud800", "v0**v0",
    "9**9**9", "sin(" * 50, "<b>", "=1+1", [], {}, [[]], [1, "a"], {"$kind": "Terms"},
    {"$kind": "Polynomial", "degree": 10**9}, {"$kind": "Gate", "fade": "a"}, {"$float": "nan"},
    {"$float": "a"}, {"$kind": "nothing"}, "v0 + " * 3000 + "v1", ["x0", "x0"], "a" * 10_000,
)  # fmt: skip
_NUMBERS = (0.0, -1.0, np.nan, np.inf, -np.inf, 1e300, 1e-320, 0.5)


@functools.cache
def models() -> list[tuple[dict[str, Any], dict[str, np.ndarray], bytes]]:
    """Return manifest, arrays and bytes of a few model files."""
    from safetensors import numpy as safetensors

    import orthoreg as og

    t = np.linspace(0, 12, 240)
    rng = np.random.default_rng(0)
    x = np.column_stack([np.cos(t), -np.sin(t)])
    data = og.Dataset.from_arrays(x + 0.01 * rng.normal(size=x.shape), t, names=["x", "v"])
    driven = og.Dataset.from_arrays(x, t, u=np.sin(2 * t)[:, None], names=["x", "v"])
    fitted = [
        og.OrthoReg("poly(2)", og.RandomFeatures(5)).fit(data),
        og.OrthoReg("poly(1)", og.Zero(), physics=og.Physics(equations={"x": "v"})).fit(data),
        og.OrthoReg("poly(1) + fourier(1)", og.MLP(4, 1), gate=og.Gate(1.0)).fit(driven),
    ]
    results = []
    for i, model in enumerate(fitted):
        model.summary(driven if i == 2 else data)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.orthoreg"
            model.save(path)
            with zipfile.ZipFile(path) as archive:
                manifest = json.loads(archive.read(_MANIFEST))
                arrays = safetensors.load(archive.read(_ARRAYS))
            results.append((manifest, arrays, path.read_bytes()))
    return results


def signed(manifest: Any, block: bytes) -> bytes:
    """Return a model file with a valid checksum."""
    described = json.dumps(manifest).encode()
    digest = hashlib.sha256(described + b"\0" + block).hexdigest()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in ((_MANIFEST, described), (_ARRAYS, block), (_DIGEST, digest)):
            archive.writestr(name, content)
    return stream.getvalue()


def _change(value: Any, rng: np.random.Generator) -> Any:
    """Return JSON data with one random change at a random depth."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = list(value)[rng.integers(len(value))]
        match rng.integers(12):
            case 0:
                del value[key]
            case 1:
                value[str(rng.choice(["x", "", "$kind", "\x1b"]))] = value[key]
            case _:
                value[key] = _change(value[key], rng)
        return value
    if isinstance(value, list) and value and rng.random() < 0.8:
        index = int(rng.integers(len(value)))
        match rng.integers(8):
            case 0:
                del value[index]
            case 1:
                value.append(copy.deepcopy(value[index]))
            case _:
                value[index] = _change(value[index], rng)
        return value
    if isinstance(value, str) and rng.random() < 0.4:
        return mutated(value, rng)
    if isinstance(value, float | int) and rng.random() < 0.4:
        return -value
    return copy.deepcopy(_VALUES[rng.integers(len(_VALUES))])


def _changed_block(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> bytes:
    """Return arrays with one random change, in the format of safetensors."""
    from safetensors import numpy as safetensors

    arrays = {name: array.copy() for name, array in arrays.items()}
    name = list(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    match rng.integers(7):
        case 0:
            del arrays[name]
        case 1 if array.size:
            array.flat[rng.integers(array.size)] = rng.choice(_NUMBERS)
        case 2:
            kind = str(rng.choice(["f4", "i8", "u1", "?", "f2"]))
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(kind)
        case 3:
            arrays[name] = array.reshape(-1)[: rng.integers(array.size + 1)]
        case 4:
            arrays[name] = array[..., None] if rng.random() < 0.5 else array.ravel()
        case 5:
            arrays[name] = np.zeros(tuple(rng.integers(0, 4, rng.integers(0, 5))))
        case _:
            block = safetensors.save(arrays)
            length = struct.unpack("<Q", block[:8])[0]
            header = json.loads(block[8 : 8 + length])
            entry = header[list(header)[rng.integers(len(header))]]
            part = str(rng.choice(["dtype", "shape", "data_offsets"]))
            values = {
                "dtype": ("BF16", "F8_E4M3", "F8_E5M2", "F32", "I64", "X", 3),
                "shape": ([0, 2**60], [2**62, 4], [-1], [1] * 5000, [], "a", [0.5]),
                "data_offsets": ([0, 0], [0, 2**62], [-8, 0], [8], None),
            }[part]
            if isinstance(entry, dict):
                entry[part] = values[rng.integers(len(values))]
            text = json.dumps(header).encode()
            return struct.pack("<Q", len(text)) + text + block[8 + length :]
    return safetensors.save({key: np.ascontiguousarray(value) for key, value in arrays.items()})


def use(path: Path) -> None:
    """Load a model and use it in all ways that need no data. Nothing may raise an exception, hang,
    or print control characters."""
    import orthoreg as og
    from orthoreg.cli import run

    model = og.load(path)
    variables = np.zeros((3, len(model.state_names_) + len(model.input_names_)))
    n_states = len(model.state_names_)
    inputs = variables[:, n_states:] if len(model.input_names_) else None
    values = model.predict(variables[:, :n_states], u=inputs)
    features = model.field_.features(variables)
    if np.isfinite(features).all() and not np.isfinite(values).all():
        raise Broken("predictions are not finite")
    str(model.summary())
    model.to_python()
    model.to_latex()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["show", str(path)])
    shown = out.getvalue() + err.getvalue()
    if code not in (0, 2) or "bug in orthoreg" in shown:
        raise Broken(f"exit code {code}: {err.getvalue()[-300:]}")
    if any(ord(letter) < 32 and letter not in "\n\t" for letter in shown):
        raise Broken("control characters were printed")


@attack("fuzz", trials=6_000, prepare=models)
def model_bytes(rng: np.random.Generator, folder: Path) -> None:
    """A model file with random bytes is refused, unless its content is unchanged."""
    _, _, content = models()[rng.integers(len(models()))]
    path = folder / "m.orthoreg"
    changed = damaged(content, rng)
    path.write_bytes(changed)
    use(path)


@attack("hostile", trials=8_000, prepare=models)
def signed_manifests(rng: np.random.Generator, folder: Path) -> None:
    """A manifest with random changes and a valid checksum is refused, or gives a model that works
    and prints no control characters."""
    from safetensors import numpy as safetensors

    manifest, arrays, _ = models()[rng.integers(len(models()))]
    manifest = copy.deepcopy(manifest)
    for _ in range(rng.integers(1, 4)):
        manifest = _change(manifest, rng)
    path = folder / "m.orthoreg"
    path.write_bytes(signed(manifest, safetensors.save(arrays)))
    use(path)


@attack("hostile", trials=5_000, prepare=models)
def signed_arrays(rng: np.random.Generator, folder: Path) -> None:
    """Arrays with random changes and a valid checksum are refused, or give a model that works."""
    manifest, arrays, _ = models()[rng.integers(len(models()))]
    path = folder / "m.orthoreg"
    path.write_bytes(signed(manifest, _changed_block(arrays, rng)))
    use(path)
