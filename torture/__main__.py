"""Run attacks, print a table, and write the record and `docs/torture.md`.

python -m torture                           # all attacks, with all trials
python -m torture --minutes 3               # as many trials as fit into three minutes
python -m torture --only csv --trials 200 --verbose
python -m torture --only mutated-csv --first 1234 --trials 1 --verbose   # repeat one trial
python -m torture --list
python -m torture pages                     # only write the page from the record
"""

import argparse
import json
import platform
import sys

from benchmarks.revision import source_revision
from torture._attack import all_attacks
from torture._page import DOCS, RECORD, page, statements, table
from torture._run import run_attacks


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "command", nargs="?", choices=["pages"], help="write only the page from the record"
    )
    parser.add_argument(
        "--only",
        default="",
        help="run attacks whose kind or name contains this text, or one of several texts",
    )
    parser.add_argument("--minutes", type=float, help="total wall time of all attacks")
    parser.add_argument("--trials", type=int, help="maximum number of trials of each attack")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--seed", type=int, default=0, help="seed of all trials")
    parser.add_argument(
        "--workers", type=int, default=1, help="number of attacks that run at the same time"
    )
    parser.add_argument("--record", action="store_true", help="write the record and the page")
    parser.add_argument("--list", action="store_true", help="list the attacks")
    parser.add_argument("--verbose", action="store_true", help="print tracebacks of failures")
    options = parser.parse_args()
    if options.command == "pages":
        stored = json.loads(RECORD.read_text())
        for entry in stored["attacks"]:
            entry["promise"] = all_attacks()[entry["name"]].promise
        RECORD.write_text(json.dumps(stored, indent=1) + "\n")
        DOCS.write_text(page(stored))
        return
    words = [word for word in options.only.split(",") if word]
    attacks = [
        attack
        for attack in all_attacks().values()
        if not words or any(word in f"{attack.kind} {attack.name}" for word in words)
    ]
    if options.list:
        print("\n".join(f"{a.kind:10} {a.name:28} {a.trials:7} {a.promise}" for a in attacks))
        return
    entries = run_attacks(
        attacks,
        minutes=options.minutes,
        trials=options.trials,
        first=options.first,
        seed=options.seed,
        workers=options.workers,
        verbose=options.verbose,
    )
    record = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "revision": source_revision(),
        "seed": options.seed,
        "attacks": entries,
    }
    if options.record:
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
        DOCS.write_text(page(record))
    print(table(entries), statements(entries), sep="")
    sys.exit(1 if any(entry["broken"] for entry in entries) else 0)


if __name__ == "__main__":
    main()
