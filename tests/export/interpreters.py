"""Small interpreters of exported source code, for languages that may not be installed. Each reads
one language line by line, independently of the exporter."""

import re

import numpy as np

FUNCTIONS = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "exp": np.exp,
    "log": np.log, "sqrt": np.sqrt, "abs": np.abs, "sign": np.sign, "floor": np.floor,
    "sum": np.sum, "minimum": np.min, "isinteger": lambda p: p == np.floor(p), "NaN": np.nan,
    "ifelse": np.where, "true": True,
}  # fmt: skip


def smaller(first, *second):
    """Return the minimum of a vector, or of two numbers or vectors."""
    return np.minimum(first, second[0]) if second else np.min(first)


def from_one(text):
    """Replace z[3], counted from one, by z[2], and keep ranges and other brackets."""
    return re.sub(r"(\w)\[(\d+)\]", lambda found: f"{found[1]}[{int(found[2]) - 1}]", text)


def julia(source):
    """Return `vector_field` of the exported Julia code."""
    scope = dict(FUNCTIONS, min=smaller, max=np.maximum)
    constants = re.findall(r"^const (\w+) = (.*?)(?=^const|^function)", source, re.M | re.S)
    for name, text in constants:
        column = re.fullmatch(r"reshape\(\[(.*)\], \d+, 1\)\s*", text, re.S)
        inner = column[1] if column else text.strip()[1:-1].strip()
        rows = [row.replace(",", " ").split() for row in inner.splitlines()]
        values = np.array([[float(one) for one in row] for row in rows])
        is_vector = "," in inner or (len(rows) == 1 and len(rows[0]) == 1 and not column)
        scope[name] = values.reshape(-1, 1) if column else values[0] if is_vector else values
    for head, condition, yes, no in re.findall(
        r"^(\w+\([\w, ]+\)) = ([^?\n]+) \? ([^:\n]+) : (.+)$", source, re.M
    ):
        name, arguments = head[:-1].split("(")
        condition = condition.replace("&&", "and").replace("!", "not ")
        body = f"({yes}) if ({condition}) else ({no.replace('^', '**')})"
        _vectorized(scope, name, arguments, body)
    if "heaviside(x) =" in source:
        _vectorized(scope, "heaviside", "x", "0.5 + 0.5 * sign(x)")
    body = re.search(r"^function vector_field\(z\)\n(.*?)^end", source, re.M | re.S)[1]
    steps = []
    for line in filter(None, map(str.strip, body.splitlines())):
        if line == "return f":
            break
        name, text = line.split(" = ", 1)
        text = from_one(text)
        if text.startswith("@. "):
            text = text[3:]
        elif " .+ " in text:
            text = re.sub(r"(\w+) \.\+ (\w+) \* (\w+)$", r"\1 + \2 @ \3", text)
        steps.append((name, _array(text) if text.startswith("[") else text))
    return _field(scope, steps)


def modelica(source):
    """Return `vectorField` of the exported Modelica model."""
    scope = dict(FUNCTIONS, min=smaller, max=np.maximum)
    for name, text in re.findall(r"constant Real (\w+)\[[\d, ]+\] = (.*?);", source, re.S):
        scope[name] = np.array(eval(text.replace("{", "[").replace("}", "]"), {}))
    body = re.search(r"  algorithm\n(.*?)\n  end vectorField", source, re.S)[1]
    steps = []
    for line in body.splitlines():
        name, text = re.fullmatch(r"\s+(\w+) := (.*);", line).groups()
        text = from_one(text.replace("^", "**"))
        every = re.fullmatch(r"\{(.*) for i in 1:(\d+)\}", text)
        if every:
            chosen = re.sub(r"if (.*) then (.*) else (.*)", r"(\2) if (\1) else (\3)", every[1])
            text = f"array([{chosen} for i in range({every[2]})])"
        elif text.startswith("{"):
            text = _array(text)
        else:
            text = re.sub(r"^(\w+) \+ (\w+) \* (\w+)$", r"\1 + \2 @ \3", text)
        if text.count("@") and not any(
            f"{part}" in scope for part in re.findall(r"\w+(?= @)", text)
        ):
            text = text.replace("@", "*")  # a product of numbers
        steps.append((name, text))
    return _field(scope, steps)


def _vectorized(scope, name, arguments, body):
    inner = eval(f"lambda {arguments}: {body}", dict(scope))
    scope[name] = np.vectorize(inner, otypes=[float])


def _array(text):
    return f"array([{text.strip()[1:-1]}])"


def _field(scope, steps):
    scope["array"] = np.array

    def field(rows):
        results = []
        for row in rows:
            known = {**scope, "z": row}
            for name, text in steps:
                with np.errstate(all="ignore"):
                    known[name] = eval(text, known)
            results.append(known["f"])
        return np.array(results)

    return field
