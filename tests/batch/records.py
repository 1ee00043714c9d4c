"""Records as a batch makes them, and some as an enemy would."""

from orbitile.jobs.sheet import write_sheet
from orbitile.jobs.table import Output, Record, columns_of, write_tables

NASTY = (
    "</script><script>alert(1)</script>.log",
    "<img src=x onerror=alert(1)>.log",
    "a\"b'c`${alert(1)}&amp;\\.log",
    "=HYPERLINK(1).log",
    "\u202egnp.evil\u202c\u2028\u2066.log",
    "line\nbreak\ttab\x00nul.log",
    "javascript:alert(1).log",
    "100% #1?q=ü λ 分子 🧪.log",
    "not utf-8 \udcff.log",
    "__proto__.log",
)


def as_folder(name):
    """The same as the name of a folder: systems allow all but two characters."""
    return name.replace("/", "-").replace("\0", "-")


def record(name, number, folder="runs", **more):
    """A record of a file for which all went well."""
    key = f"{number:064x}"
    place = f"files/{as_folder(name)}-{key[-8:]}"
    outputs = (Output("homo", "png", f"{place}/homo.png"), Output("", "json", f"{place}/all.json"))
    values = {"formula": f"C{number + 1}H4", "atoms": number + 5, "homo_eV": -6.25, "gap_eV": 1.0 + number / 8}
    return Record(f"{folder}/{name}", key, values, outputs, **more)


def refused(name, number, reason):
    """A record of a file with which nothing could be done."""
    return Record(f"runs/{name}", f"{number:064x}", refusals={"": f"{name}{reason}"})


def some():
    """Records of all kinds."""
    return [
        record("benzene.log", 0, remarks=("it is odd",)),
        refused("broken.log", 1, ": line 12: expected 34 numbers, got 5"),
        record("water.log", 2, folder="runs/other", refusals={"density+esp": "needs memory"}),
        refused("cut.log", 3, ", line 99: expected 7 numbers, got 1"),
    ]


def nasty():
    """Records whose every text is nasty."""
    found = []
    for number, name in enumerate(NASTY):
        one = record(name, number, refusals={name: name, "": name}, remarks=(name,))
        values = {**one.values, "program": name, f"a{name}": 1.5}
        found.append(Record(one.file, one.key, values, one.outputs, one.refusals, one.remarks))
    return found


def tables(records, folder):
    """The tables of a batch; what is missing."""
    return write_tables(records, folder, columns_of(records))


def sheet(records, folder):
    """Its contact sheet."""
    write_sheet(records, folder, columns_of(records))
