"""The method of a calculation as its log names it: the functional with its dispersion correction, HF, MP2, CCSD(T) ...

cclib knows most names of methods beyond the self-consistent field, but the functional of few programs. Excited states
are listed by themselves, so that a log of TD-B3LYP is one of B3LYP, and one of CIS of HF.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_FLAGS = re.MULTILINE


def method_of(text: str, package: str, metadata: dict[str, Any]) -> str:
    """Name of the method, "" where the log does not tell.

    Parameters
    ----------
    text
        The log.
    package
        The program, by its name in cclib.
    metadata
        What cclib found: `methods`, `functional`.
    """
    found = _STATED.get(package, _nothing)(text)
    correlated = _correlated(metadata.get("methods", ()))
    return found or correlated or _tidy(str(metadata.get("functional") or "")) or _any_scf(metadata.get("methods", ()))


def _nothing(text: str) -> str:
    return ""


def _last(pattern: str, text: str) -> str:
    """The group of the last match, in capitals."""
    found = re.findall(pattern, text, _FLAGS)
    return found[-1].strip().upper() if found else ""


def _gamess(text: str) -> str:
    """The tables of options; input cards are not always heeded."""
    scf = _last(r"^ +SCFTYP=(\w+) ", text)
    functional = _last(r"^ +(?:SCFTYP=.* )?DFTTYP=(\S+)", text)
    if not scf and not functional:
        return ""
    level, coupled, ci = (
        _last(pattern, text) for pattern in (r"\bMPLEVL= *(\d)", r"\bCCTYP *=(\S+)", r"\bCITYP *=(\S+)")
    )
    if functional not in ("", "NONE"):
        grimme = _last(r"GRIMME'S EMPIRICAL DISPERSION CORRECTION= (\w)", text) == "T"
        version = (_last(r"^ +DFT-?(D[234])\b", text) or "D") if grimme else ""
        if "DFT-D DISPERSION CORRECTION" in text:  # of Firefly
            version = "D" + (_last(r"^ INPUT CARD>.*\bVERSN=(\d)", text) or "")
        return _with(functional, version)
    if coupled not in ("", "NONE"):
        return coupled
    if level not in ("", "0"):
        return f"MP{level}"
    if ci not in ("", "NONE", "CIS", "SFCIS", "TDDFT"):
        return f"CI ({ci})"
    semiempirical = _last(r"GBASIS=(AM1|PM3|MNDO|RM1)\b", text)
    return semiempirical or ("HF" if scf in ("RHF", "UHF", "ROHF") else scf)


_EXCHANGE = r"(?:S|XA|B|O|G96|PW91|mPW|MPW|PBE|TPSS|RevTPSS|BRx|PKZB|PBEh|wPBEh)"
"""Exchange functionals of Gaussian, which stand before a minus."""


def _gaussian(text: str) -> str:
    """The archive entry, or the lines of the self-consistent field where a log does not end with one."""
    name = ""
    entries = [(start, mark) for mark in "\\|" if (start := text.rfind(f"1{mark}1{mark}")) >= 0]
    for start, mark in entries:
        fields = re.sub(r"\r?\n ?", "", text[start : start + 600]).split(mark)
        if len(fields) > 5 and re.fullmatch(r"(?:RO|R|U)?[A-Z][\w().,+*-]*(?: TD\S*)?", fields[4], re.IGNORECASE):
            name = re.sub(r"-(?:FC|FU|RW|Full)$|-FC\b.*", "", fields[4].split(" ")[0])
    stated = re.findall(r"^ SCF Done: +E\(([^)]*(?:\([^)]*\))?[^)]*)\)", text, _FLAGS)
    if not name and stated:
        whole = re.findall(r"\bEx\+Corr=(\S+)", text)
        if "+HF" in stated[-1]:  # as versions before 2009 write hybrids
            name = whole[-1] if whole else ""
        else:
            name = stated[-1]
        if re.search(r"^ *E[0-9a-zA-Z() ]*= .* EUMP2 = |\bCCSD\(T\)= ", text, _FLAGS):
            return ""  # cclib tells which
    name = re.sub(r"^(?:RO|R|U)(?=[A-Za-z])(?!ev)", "", name)
    name = re.sub(r"^TDA?-", "", re.sub(r"^EOMCC.*", "EOM-CCSD", name))
    if re.match(r"CIS", name, re.IGNORECASE):
        name = "HF"
    if pair := re.fullmatch(rf"({_EXCHANGE})-([A-Z]\w*)", name):
        name = pair[1] if pair[2] in (pair[1], "PBE") and pair[1] in ("PBE", "PW91", "TPSS") else pair[1] + pair[2]
    version = _last(r"^ R6Disp: +(?:Adding )?Grimme-(D\d(?:\(BJ\))?)", text)
    return _with(_tidy(name), version)


_ORCA_FUNCTIONALS = frozenset(
    """
    HFS LDA LSD VWN VWN5 VWN3 PWLDA BP86 BP BLYP OLYP GLYP XLYP PW91 MPWPW MPWLYP PBE RPBE REVPBE RPW86PBE PWP
    B1LYP B3LYP B3LYP/G O3LYP X3LYP B1P B3P B1P86 B3P86 B3PW91 PW1PW MPW1PW MPW1LYP PBE0 REVPBE0 REVPBE38
    BHANDHLYP TPSS TPSSH TPSS0 REVTPSS SCANFUNC RSCAN R2SCAN R2SCANH R2SCAN0 R2SCAN50 M06L M06 M062X M06-2X
    PW6B95 B97-D B97-D3 B97-D4 B97M-V B97M-D3BJ B97M-D4 WB97 WB97X WB97X-D3 WB97X-D3BJ WB97X-D4 WB97X-V WB97M-V
    WB97M-D3BJ WB97M-D4 CAM-B3LYP LC-BLYP LC-PBE WR2SCAN B2PLYP MPW2PLYP B2GP-PLYP B2K-PLYP B2T-PLYP PWPB95
    DSD-BLYP DSD-PBEP86 DSD-PBEB95 B2NC-PLYP WB2PLYP WB2GP-PLYP WB97X-2 RSX-QIDH RSX-0DH PBE-QIDH PBE0-DH
    WPBEPP86 REVDSD-PBEP86-D4/2021 REVDSD-PBEP86/2021 WB88PP86 HF-3C PBEH-3C B97-3C R2SCAN-3C WB97X-3C
    """.split()
)
_ORCA_BEYOND = re.compile(
    r"(?:(?:DLPNO|LPNO|RI|DF|SCS|OO|O)-)*(?:MP[234]|MP2\.5|CCSD(?:\(T\))?|QCISD(?:\(T\))?|NEVPT2)"
)
_ORCA_PARTS = {
    ("B88", "LYP", "0.2"): "B3LYP",
    ("B88", "LYP", ""): "BLYP",
    ("B88", "P86", ""): "BP86",
    ("PBE", "PBE", ""): "PBE",
    ("PBE", "PBE", "0.25"): "PBE0",
}
"""Functionals by exchange, correlation and share of exact exchange, of a log without its input."""


def _orca(text: str) -> str:
    """Words of the input, of the last calculation that a log of several has."""
    words = [
        word
        for line in re.findall(r"^\|\s*\d+>\s*(?:!|(?:%method\s+)?functional\s)(.*)$", text, _FLAGS | re.IGNORECASE)
        for word in line.split("#")[0].upper().split()
    ]
    composite = [word for word in words if word.endswith("-3C")]
    kind = _last(r"^ (?:Ab initio Hamiltonian|Density Functional) +Method +\.+ (\S+)\(GTOs\)", text)
    if composite or kind not in ("DFT", "HARTREE-FOCK"):
        return composite[-1] if composite else ""
    if kind == "HARTREE-FOCK":
        return next((word for word in reversed(words) if _ORCA_BEYOND.fullmatch(word)), "HF")
    share = float(_last(r"ScalHFX +\.+ +(\d*\.\d+)", text) or 0)
    parts = [_last(rf"^ {what} Functional +{what} +\.+ (\S+)", text) for what in ("Exchange", "Correlation")]
    known = _ORCA_PARTS.get((parts[0], parts[1], f"{share:g}" if share else ""), "-".join(parts))
    name = next((word for word in reversed(words) if word in _ORCA_FUNCTIONALS), known)
    version = _last(r"^ *DFTD(\d) V", text)
    damping = "(BJ)" if version == "3" and re.search("USING Becke-Johnson damping", text, re.IGNORECASE) else ""
    return _with("BP86" if name == "BP" else name, f"D{version}{damping}" if version else "")


def _nwchem(text: str) -> str:
    """The functional by its name or its parts, of the last ground state."""
    start = text.rfind("XC Information", 0, _end(text, "NWChem TDDFT Module"))
    if start < 0:
        return ""
    block = text[start : start + 1500].split("Grid Information")[0]
    dispersion = _last(r"^ *DFT-(D\d(?:BJ)?) Model", text)
    if named := re.search(r"^ *(.*?) +Method XC (?:Potential|Functional)", block, _FLAGS):
        return _with(_NWCHEM_SUMS.get(named[1], named[1].removesuffix(" metaGGA")), dispersion)
    parts = re.findall(r"^ *(\S.*?) +(?:Exchange|Correlation)(?: +Functional| +Potential)? +([\d.]+)", block, _FLAGS)
    if not parts:
        return ""
    names: dict[str, float] = {}
    for name, factor in parts:
        whole = next(
            (short for start, short in _NWCHEM.items() if name.startswith(start)), name.removesuffix(" metaGGA")
        )
        names.setdefault("HF" if name.startswith("Hartree-Fock") else whole, float(factor))
    if len(names) > 1:
        names = {
            name: factor for name, factor in names.items() if name not in ("LDA81", "PW92")
        }  # parts of P86, PBE ...
    if whole := next((name for name in names if re.match(r"M(?:0[568]|11)", name)), ""):
        return _with(whole, dispersion)  # its exchange and correlation are listed beside its share of exact exchange
    if names.keys() == {"HF"} and names["HF"] != 1:
        return ""  # the rest is from a library, whose functionals are listed otherwise
    joined = "+".join(name if factor == 1 else f"{factor:g}*{name}" for name, factor in names.items())
    return _with(_NWCHEM_SUMS.get(joined, joined), dispersion)


_NWCHEM = {
    "Slater": "S",
    "Becke 1988": "B88",
    "Perdew 1981": "LDA81",
    "Perdew 1986": "P86",
    "Perdew 1991 LDA": "PW92",
    "PerdewBurkeErn": "PBE",
    "Lee-Yang-Parr": "LYP",
    "VWN V": "VWN5",
    "VWN I RPA": "VWN1RPA",
    "CAM-Becke88": "CAM-B88",
}
"""Parts of functionals by how their names begin."""

_NWCHEM_SUMS = {
    "B88+P86": "BP86",
    "B88+LYP": "BLYP",
    "S+VWN5": "SVWN5",
    "TPSS+TPSS03": "TPSS",
    "0.25*HF+0.75*PBE": "PBE0",
    "0.5*HF+0.5*S+0.5*B88+LYP": "BHandHLYP",
    "0.53*HF+0.47*B88+0.73*LYP": "B2PLYP",
    "HF+CAM-B88+0.19*VWN5+0.81*LYP": "CAM-B3LYP",
    "HF+CAM-B88+0.81*LYP+0.19*VWN5": "CAM-B3LYP",
    "PBE96": "PBE",
    "TPSS hybrid": "TPSSh",
    "Becke half-and-half": "BHandH",
}
"""Names of sums."""


def _end(text: str, mark: str) -> int:
    place = text.find(mark)
    return len(text) if place < 0 else place


def _qchem(text: str) -> str:
    """The input, since the log prints functionals by their parts."""
    options = {
        key.lower(): value.upper()
        for key, value in re.findall(
            r"^\s*(method|exchange|correlation|dft_d)\b\s*=?\s*([A-Za-z]\S*)", _rem(text), re.MULTILINE | re.IGNORECASE
        )
    }
    name = options.get("method") or options.get("exchange", "")
    correlation = options.get("correlation", "NONE")
    if "method" not in options and correlation not in ("NONE", "FALSE"):
        pair = name + correlation
        known = {"BLYP", "BP86", "SVWN", "BOP", "OLYP", "PW91PW91", "PBEPBE", "TPSSTPSS"}
        name = (
            correlation
            if name == "HF"
            else {"BP86": "BP86", "PBEPBE": "PBE"}.get(pair, pair if pair in known else f"{name}-{correlation}")
        )
    if re.match(r"(?:S?OS)?R?CIS|EOM|ADC|TDDFT", name):
        name = "HF"
    dispersion = options.get("dft_d", "FALSE")
    suffix = (
        "" if dispersion in ("FALSE", "NONE", "0") else "D3(BJ)" if dispersion == "D3_BJ" else dispersion.split("_")[0]
    )
    return _with(name, {"EMPIRICAL": "D2", "TRUE": "D2"}.get(suffix, suffix))


def _rem(text: str) -> str:
    """The last section of options of the input."""
    start = text.lower().rfind("\n$rem")
    end = text.lower().find("$end", start)
    return text[start:end] if 0 <= start < end else ""


def _psi4(text: str) -> str:
    functional = _last(r"=> (?:Composite Functional: )?(\S+?)(?: Composite Functional)? <= *$", _functionals(text))
    if functional:
        return re.sub(r"ZERO$", "", functional.removesuffix("2B")) if "-D" in functional else functional
    return (
        ""
        if "=> Energetics <=" not in text or re.search(r"MP2 Energies|CC[A-Z()]* (?:Energy|correlation)", text, re.I)
        else "HF"
    )


def _functionals(text: str) -> str:
    return "\n".join(re.findall(r"^.*Composite Functional.*$", text, _FLAGS))


def _molpro(text: str) -> str:
    """The table of times at the end names what was computed, the first functional of the last self-consistent field."""
    done = re.findall(r"^ +(\S.*(?:HF|KS)-SCF)\b", text, _FLAGS)
    names = done[-1].split() if done else []
    beyond = next((name for name in names if _CORRELATED.fullmatch(name.upper())), "")
    if beyond:
        return beyond.upper()
    if not re.search(r"PROGRAM \* [RU]?KS-SCF", text):
        return (
            "HF"
            if re.search(r"PROGRAM \* (?:RHF|UHF|ROHF)?-?SCF", text)
            and not re.search(r"PROGRAM \* (?:MULTI|CASSCF)", text)
            else ""
        )
    functional = _last(r"^ *Density functional group +([^=\s]+)", text)
    if not functional:
        parts = dict.fromkeys(re.findall(r"^ *Functional: +([\w-]+)", text, _FLAGS))
        functional = "+".join(parts)
    version = _last(r"^ *\S+ +(D\d) dispersion correction +-", text)
    return _with(_tidy(functional), version)


def _gamess_uk(text: str) -> str:
    beyond = _last(r"^ +(mp[23]) calculation *$", text)
    functional = _last(r"^ *(\S+) exchange-correlation functional selected", text)
    if not functional and "CCP1 DFT" in text:
        functional = _last(r"^ *>>>>> *DFT +(\S+)", text)
    return beyond or functional or ("HF" if re.search(r"SCF TYPE +\w*[ru]hf|SCF TYPE +(?:rhf|uhf|gvb)", text) else "")


def _jaguar(text: str) -> str:
    beyond = _last(r"^ *Post-SCF correlation type: (\S+)", text)
    kind = _last(r"^ *SCF type: *(.*?) *$", text) or _last(r"^ *SCF calculation type: *(.*?) *$", text)
    if beyond or "DFT" not in kind:
        return beyond or ("HF" if "HF" in kind else "")
    short = _last(r"^ *SCF calculation type: *U?R?O?DFT\((.+?)\)", text)
    return short or _last(r"\(([^()]+)\) *$", kind) or kind.partition("=")[2]


def _molcas(text: str) -> str:
    modules = re.findall(r"--- Start Module: (\w+)", text)
    beyond = {
        "mbpt2": "MP2",
        "ccsdt": "CCSD(T)" if "Triples" in text else "CCSD",
        "caspt2": "CASPT2",
        "rasscf": "RASSCF",
    }
    name = next((beyond[module] for module in reversed(modules) if module in beyond), "")
    if name:
        return name
    if "Total KS-DFT energy" in text:
        return _last(r"^ *(?:UHF +)?(\S+) +iterations: Energy and convergence", text)
    return "HF" if "Total SCF energy" in text else ""


_STATED: dict[str, Callable[[str], str]] = {
    "GAMESS": _gamess,
    "Gaussian": _gaussian,
    "ORCA": _orca,
    "NWChem": _nwchem,
    "QChem": _qchem,
    "Psi4": _psi4,
    "Molpro": _molpro,
    "GAMESSUK": _gamess_uk,
    "Jaguar": _jaguar,
    "Molcas": _molcas,
}
"""What reads the method in a log, by the program's name in cclib."""

_CORRELATED = re.compile(
    r"(?:(?:DF|RI|SCS|DLPNO|LPNO|PNO|L|U|R|RO)-?)*(?:MP[2-5]\S*|CC[SD2-3]\S*|QCI\S*|CISD\S*|MRCI\S*|CASSCF|MULTI|ACPF|RS[23]C?)"
)


def _correlated(methods: Any) -> str:
    """The last method beyond the self-consistent field that cclib names."""
    names = [str(name).replace("CCSD-T", "CCSD(T)") for name in methods if _CORRELATED.fullmatch(str(name).upper())]
    return names[-1] if names else ""


def _any_scf(methods: Any) -> str:
    names = [re.sub(r"^(?:RO|R|U)(?=HF$)", "", str(name)) for name in methods]
    return names[-1] if names and names[-1] != "DFT" else ""


def _tidy(name: str) -> str:
    """A name without its spin, as the programs' manuals write it."""
    return "HF" if name.upper() in ("RHF", "UHF", "ROHF") else name.strip()


def _with(name: str, dispersion: str) -> str:
    """A functional with its dispersion correction, unless its name has one."""
    has_one = re.search(r"(?:-D\d?(?:\(?BJ\)?|ZERO)?|D3|97XD|97D|-V)$", name.upper())
    return name if not dispersion or not name or has_one else f"{name}-{dispersion}"
