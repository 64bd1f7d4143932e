"""`fenchel paper`: the experiments and the theory of the paper, rerun and measured against the truth."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli.cache import keep_compiled
from fenchel.cli.flags import Command, read_words, show_help, wants_help
from fenchel.cli.options import options_of
from fenchel.cli.output import DONE, shown, table, write_json, write_tables
from fenchel.errors import require

if TYPE_CHECKING:
    from rich.table import Table

    from fenchel.studies.paper import Findings

OUT, OUT_QUICK = Path("runs/paper"), Path("runs/paper-quick")


@dataclass(frozen=True)
class PaperOptions:
    """What may be said about the study."""

    quick: bool = False
    """A rough look in two minutes instead of the study in half an hour."""
    out: Path | None = None
    """Directory for the run files; runs/paper by default, with --quick runs/paper-quick."""
    resume: bool = False
    """Go on with the study in --out, or write its page again."""
    page: Path | None = None
    """The findings page, a .md file with a folder of figures beside it; by default paper.md in --out."""
    json: bool = False
    """Print one JSON object instead of tables."""
    quiet: bool = False
    """Show no progress."""

    def __post_init__(self) -> None:
        if self.page is not None:
            field, value = "page", str(self.page)
            require(self.page.suffix == ".md", field, value, "must end in .md")
            require(self.page.parent.is_dir(), field, value, "needs its directory, which does not exist")
        remedy = "draws figures and needs matplotlib: pip install 'fenchel[plot]'"
        require(find_spec("matplotlib") is not None, "command", "paper", remedy)

    @property
    def directory(self) -> Path:
        """Where the run files are."""
        return self.out or (OUT_QUICK if self.quick else OUT)


COMMAND = Command(
    "paper",
    "Rerun the experiments and the theory of Liu et al. (2018), and say what holds.",
    options_of(PaperOptions),
)


def run(words: Sequence[str]) -> int:
    """Do what the words of the command line ask for."""
    if wants_help(words):
        show_help(COMMAND)
        return DONE
    options = PaperOptions(**read_words(COMMAND, words).values)
    keep_compiled()
    started = time.perf_counter()
    findings = _study(options)
    files = _write(options, findings)
    record = {**findings.summary(), "page": str(files[0]), "figures": [str(path) for path in files[1:]]}
    record |= {"out": str(options.directory), "seconds": time.perf_counter() - started, "status": "done"}
    if options.json:
        write_json(record)
    else:
        write_tables(_tables(record))
    return DONE


def _study(options: PaperOptions) -> "Findings":
    from fenchel.studies.paper import FULL, QUICK, Findings, run_study
    from fenchel.training import Interrupted
    from fenchel.training.progress import Bar

    plan = QUICK if options.quick else FULL
    bar = Bar()
    try:
        results = run_study(
            plan, options.directory, resume=options.resume, bar=None if options.quiet else bar
        )
    except (Interrupted, KeyboardInterrupt):
        again = " ".join(
            ["fenchel paper", *(["--quick"] if options.quick else []), f"--out {options.directory} --resume"]
        )
        raise KeyboardInterrupt(f"interrupted; to go on: {again}") from None
    finally:
        bar.close()
    return Findings(plan, results)


def _write(options: PaperOptions, findings: "Findings") -> list[Path]:
    from fenchel.report.paper import write_page

    command = "fenchel paper --quick" if options.quick else "fenchel paper"
    return write_page(findings, options.page or options.directory / "paper.md", command)


def _tables(record: dict[str, Any]) -> Iterator["Table"]:
    columns = ("algorithm", "mean", "std", "value", "share", "paper mean", "paper std")
    for domain, rows in record["domains"].items():
        cells = ([shown(row[name.replace(" ", "_")]) for name in columns] for row in rows)
        yield table(domain, cells, columns)
    claims = ((claim["text"], claim["difference"], claim["verdict"]) for claim in record["claims"])
    yield table("what the paper says", claims, ("claim", "difference", "verdict"))
    yield table("", [("page", record["page"]), ("seconds", record["seconds"])])
