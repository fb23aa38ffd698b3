"""Write the output of the demo and the text and output of the quickstart into README.md."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        demo = _output([sys.executable, "-m", "orthoreg", "demo", "--out", "demo"], folder)
        example = ROOT / "examples" / "quickstart.py"
        printed = _output([sys.executable, str(example)], folder)
    source = example.read_text().split('"""', 2)[2].strip()
    blocks = {
        "demo": f"```\n{demo}\n```",
        "quickstart": f"```python\n{source}\n```\n\nThis prints:\n\n```\n{printed}\n```",
    }
    readme = ROOT / "README.md"
    text = readme.read_text()
    for name, block in blocks.items():
        text = re.sub(
            rf"(<!-- {name}: .*? -->\n).*?(<!-- end -->)",
            lambda match, block=block: f"{match[1]}{block}\n{match[2]}",
            text,
            flags=re.DOTALL,
        )
    readme.write_text(text)


def _output(command: list[str], folder: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


if __name__ == "__main__":
    main()
