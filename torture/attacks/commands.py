"""Command-line arguments, and physics files."""

import contextlib
import functools
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from torture._attack import Broken, attack
from torture._mutation import mutated
from torture.attacks.formulas import expression
from torture.attacks.models import models

_OPTIONS: dict[str, tuple[str, ...]] = {
    "fit": (
        "--time", "--states", "--inputs", "--group", "--library", "--known", "--value", "--bound",
        "--relation", "--positions", "--hidden", "--start", "--per-run", "--preset", "--out",
        "--seed", "--encoding", "--delimiter", "--decimal", "--missing", "--chunks", "--gap",
        "--time-unit", "--physics", "--sparsity", "--json", "--discover", "--repair", "--nope",
    ),
    "simulate": ("--start", "--until", "--step", "--inputs", "--out", "--json", "--nope"),
    "show": ("--json", "--nope"),
    "export": ("--format", "--out", "--json"),
    "evaluate": ("--time", "--group", "--json", "--missing"),
    "generate": ("--split", "--out", "--seed", "--runs"),
}  # fmt: skip
_VALUES = (
    "t", "x", "v", "x,v", "nope", "", " ", ",", "x,,v", "0", "-1", "1e999", "nan", "inf", "1,0",
    "1e308,1e308", "x' = v", "v' = -k*x + ...", "x' = ", "x' = v' + x'", "v'' = 1", "k=1", "k=nan",
    "v': v <= 0", "0.1 <= k", "k <= nan", "coef(x, v) = 1", "coef(v, x) = -coef(v, v)", "h", "tab",
    "utf-16", "zlib", "poly(2)", "poly(99)", "fourier(1)", "near(poly(1), 1)", "x/(K + x)", "train",
    "text", "python", "latex", "../../x", "/dev/null", "/proc/self/x", "\x1b[2J", "--", "-h",
    "\udcff", "9" * 400, "s", "100", "recommended", "x:v", "odd",
)  # fmt: skip
_TOML_KEYS = (
    "equations", "values", "required", "forbidden", "bounds", "relations", "conserved", "start",
    "per_run", "symmetry", "nope", '"x y"', "a.b.c",
)  # fmt: skip
_TOML_VALUES = (
    "3", "-0.5", "inf", "nan", "true", '"odd"', '"x"', '["x\' = v"]', '["v\' = -k*x + ..."]', "[]",
    "{}", "[[]]", '[{x = "v"}]', "1979-05-27", "1" + "0" * 400, '{ x = "v", v = "-k*x" }', "0x10",
    '["v\': v <= 0", "0 <= k"]', '["coef(x, v) = 1"]', '["x**2 + v**2"]', '{ g = 9.81 }', '"""x"""',
    '["even(x)", "periodic(v)"]', '{ x = [0, 1] }', "[" * 200, '["x = 0..1"]', '"\\u0000"',
)  # fmt: skip


_SIDES = ("+ ...", "...", "+ k*x", "- (k + m)*x*(a + b)", "/(K + x)", "+ x(t - tau) + ...")
_TOML_LINES = (
    """equations = ["v' = -k*x + ..."]""", "bounds = [\"v': v <= 0\"]", "required.v = ['x']",
    "forbidden.x = ['sin(...)', 'x*v']", "conserved = ['x**2 + v**2']", "symmetry = 'odd'",
    "relations = ['coef(x, v) = -coef(v, x)']", "start = ['x = 0..10']",
)  # fmt: skip


@functools.cache
def prepare() -> None:
    models()
    import orthoreg.cli._fit  # noqa: F401


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def outcome(arguments: list[str], folder: Path) -> None:
    """Run a command in a folder. Raise `Broken` unless it succeeds or explains the mistake."""
    from orthoreg.cli import run

    out, err = io.StringIO(), io.StringIO()
    with _inside(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    text = err.getvalue()
    if code not in (0, 2) or "bug in orthoreg" in text or "Traceback" in text:
        raise Broken(f"{arguments}: exit code {code}: {text[-300:]}")
    if code == 2 and not text.strip():
        raise Broken(f"{arguments}: no message")
    if len(text) > 5000:
        raise Broken(f"{arguments}: a message of {len(text)} characters")


def _table(folder: Path, rng: np.random.Generator) -> None:
    t = np.arange(12) * 0.1
    rows = zip(t, np.cos(t), -np.sin(t), strict=True)
    lines = ["t,x,v", *(f"{a:.3f},{b:.6f},{c:.6f}" for a, b, c in rows)]
    text = "\n".join(lines) + "\n"
    if rng.random() < 0.2:
        text = mutated(text, rng)
    (folder / "runs.csv").write_bytes(text.encode(errors="replace"))


@attack("fuzz", trials=4_000, seconds=30, prepare=prepare)
def arguments(rng: np.random.Generator, folder: Path) -> None:
    """A command with random options ends with exit code 0, or with 2 and one message."""
    command = str(rng.choice(list(_OPTIONS)))
    _table(folder, rng)
    (folder / "m.orthoreg").write_bytes(models()[rng.integers(len(models()))][2])
    given = [command]
    if command == "fit":
        given += ["runs.csv", "--out", "out", "--time", "t", "--states", "x,v"]
        if rng.random() < 0.7:  # an invalid library, so that most trials do not fit a model
            given += ["--library", str(rng.choice(["poly(", "x +", "nope", "sin"]))]
    elif command == "generate":
        given += [str(rng.choice(["pendulum", "nope"])), "--out", "g.csv"]
    else:
        given += ["m.orthoreg", *(["runs.csv"] if command == "evaluate" else [])]
        given += ["--until", "1", "--start", "1,0"] if command == "simulate" else []
    for _ in range(rng.integers(0, 4)):
        option = str(rng.choice(_OPTIONS[command]))
        value = str(rng.choice(_VALUES)) if rng.random() < 0.8 else expression(rng, 2)
        if option in ("--out", "--physics") and value.startswith(("/", "..")):
            value = "nope/x"
        given += [option, value] if rng.random() < 0.9 else [option]
    if rng.random() < 0.05:
        given = given[: rng.integers(len(given) + 1)]
    if "--step" in given or "--until" in given:  # a long simulation is not a hang
        given = [word for word in given if word not in ("1e-300",)]
    outcome(given, folder)


def toml(rng: np.random.Generator) -> str:
    """Return a physics file with random entries."""
    lines = [line for line in _TOML_LINES if rng.random() < 0.3]
    for _ in range(rng.integers(0, 3)):
        key, value = str(rng.choice(_TOML_KEYS)), str(rng.choice(_TOML_VALUES))
        if rng.random() < 0.2:
            value = f'["x\' = {expression(rng, 3)}"]'
        lines.append(f"{key} = {value}" if rng.random() < 0.85 else f"[{key}]\nx = {value}")
    text = "\n".join(lines)
    return mutated(text, rng) if rng.random() < 0.3 else text


@attack("fuzz", trials=20_000)
def physics_files(rng: np.random.Generator, folder: Path) -> None:
    """A physics file with random entries is applied to the columns of a table, or refused."""
    from orthoreg.physics import bind_physics, physics_of, read_fields
    from orthoreg.terms import Polynomial

    file = folder / "physics.toml"
    file.write_bytes(toml(rng).encode(errors="surrogatepass"))
    bind_physics(physics_of(read_fields(file)), Polynomial(2), ("x", "v"), ("x", "v"))


@attack("fuzz", trials=20_000)
def statements(rng: np.random.Generator, folder: Path) -> None:
    """Known equations, bounds, relations and starts of random text are applied or refused."""
    from orthoreg.physics import bind_physics, parse_bound, parse_equation, parse_start, physics_of
    from orthoreg.terms import Polynomial

    side = expression(rng, 2).replace("v0", "x").replace("theta", "v").replace("v1", "v")
    side = mutated(f"{side} {rng.choice(_SIDES)}", rng) if rng.random() < 0.6 else side
    left = str(rng.choice(["x' =", "v' =", "x'' =", "k*v' + x' =", "x'*v' =", "x[k+1] =", "="]))
    fields: dict[str, Any] = {"equations": [parse_equation(f"{left} {side}")]}
    match rng.integers(5):
        case 0:
            fields["bounds"] = [parse_bound(f"v': {expression(rng, 2)} <= {expression(rng, 0)}")]
        case 1:
            fields["relations"] = [f"coef(x, {expression(rng, 1)}) = {expression(rng, 1)}"]
        case 2:
            fields["conserved"] = [expression(rng, 2)]
        case 3:
            fields["start"] = [parse_start(f"x = {expression(rng, 2)}")]
        case _:
            fields["forbidden"] = {"x": [str(rng.choice(["...", "x*v", "sin(...)"])), side]}
    bind_physics(physics_of(fields), Polynomial(2), ("x", "v"), ("x", "v"))
