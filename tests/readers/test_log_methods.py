"""The method that a log states: what each program prints of it, in a few lines."""

import pytest

from orbitile.readers._logs import method_of

ARCHIVE = " 1\\1\\GINC-NODE\\SP\\{}\\6-31G(d)\\C10H10\\USER\\01-Jan-2020\\0\\\\#p\n"
GAMESS = "     $CONTRL\n SCFTYP={}          RUNTYP=ENERGY\n MPLEVL=       {}     CITYP ={}   CCTYP ={}\n"
GAMESS += " DFTTYP={}\n"
ORCA_DFT = " Density Functional     Method          .... DFT(GTOs)\n Exchange Functional    Exchange        .... {}\n"
ORCA_DFT += " Correlation Functional Correlation     .... {}\n   Fraction HF Exchange ScalHFX         ....  {}\n"
ORCA_HF = " Ab initio Hamiltonian  Method          .... Hartree-Fock(GTOs)\n"
NWCHEM = "              XC Information\n              --------------\n{}\n             Grid Information\n"
BP86 = """                    Becke 1988 Exchange Functional  1.000
                Perdew 1981 Correlation Functional  1.000 local
                Perdew 1986 Correlation Functional  1.000 non-local"""
PBE0 = """                     Hartree-Fock (Exact) Exchange  0.250
          PerdewBurkeErnzerhof Exchange Functional  0.750
            Perdew 1991 LDA Correlation Functional  1.000 local
           PerdewBurkeErnz. Correlation Functional  1.000 non-local"""
QCHEM = "$molecule\n0 1\n$end\n\n$rem\n{}\n$end\n"


@pytest.mark.parametrize(
    ("program", "text", "method"),
    [
        ("GAMESS", GAMESS.format("RHF", 0, "NONE", "NONE", "B3LYP"), "B3LYP"),
        ("GAMESS", GAMESS.format("UHF", 0, "NONE", "NONE", "NONE"), "HF"),
        ("GAMESS", " INPUT CARD> $DFT DFTTYP=B3LYP $END\n" + GAMESS.format("RHF", 0, "NONE", "NONE", "NONE"), "HF"),
        ("GAMESS", GAMESS.format("RHF", 2, "NONE", "NONE", "NONE"), "MP2"),
        ("GAMESS", GAMESS.format("RHF", 0, "NONE", "CCSD(T)", "NONE"), "CCSD(T)"),
        ("GAMESS", GAMESS.format("RHF", 0, "CIS", "NONE", "NONE"), "HF"),
        ("GAMESS", GAMESS.format("MCSCF", 0, "NONE", "NONE", "NONE"), "MCSCF"),
        (
            "GAMESS",
            GAMESS.format("RHF", 0, "NONE", "NONE", "BP86")
            + " GRIMME'S EMPIRICAL DISPERSION CORRECTION= T\n           DFTD3 V1.2\n",
            "BP86-D3",
        ),
        ("Gaussian", ARCHIVE.format("UB3LYP"), "B3LYP"),
        ("Gaussian", ARCHIVE.format("RB3LYP TD-FC"), "B3LYP"),
        ("Gaussian", ARCHIVE.format("RTD-PBE1PBE-FC"), "PBE1PBE"),
        ("Gaussian", ARCHIVE.format("RCIS-FC"), "HF"),
        ("Gaussian", ARCHIVE.format("ROHF"), "HF"),
        ("Gaussian", ARCHIVE.format("RB2PLYPD3-FC"), "B2PLYPD3"),
        ("Gaussian", ARCHIVE.format("RwB97XD"), "wB97XD"),
        ("Gaussian", ARCHIVE.format("RRevTPSS"), "RevTPSS"),
        ("Gaussian", ARCHIVE.format("RCCSD(T)-FC"), "CCSD(T)"),
        ("Gaussian", ARCHIVE.format("RB-\n LYP"), "BLYP"),
        ("Gaussian", " SCF Done:  E(RB-P86) =  -382.328     A.U. after   13 cycles\n", "BP86"),
        ("Gaussian", " SCF Done:  E(UPBE-PBE) =  -1.0     A.U. after   13 cycles\n", "PBE"),
        (
            "Gaussian",
            " R6Disp:  Grimme-D3(BJ) Dispersion energy=  -0.01 Hartrees.\n SCF Done:  E(RPBE1PBE) =  -1.0 A.U.\n",
            "PBE1PBE-D3(BJ)",
        ),
        ("ORCA", ORCA_DFT.format("B88", "LYP", "0.200000"), "B3LYP"),
        (
            "ORCA",
            "|  1> ! UKS CAM-B3LYP def2-SVP D4\n" + ORCA_DFT.format("B88", "LYP", "0.190000") + " DFTD4 V3\n",
            "CAM-B3LYP-D4",
        ),
        ("ORCA", "|  2> %method functional wB97M-V end\n" + ORCA_DFT.format("X", "C", "0.15"), "WB97M-V"),
        ("ORCA", "|  1> ! B2PLYP RIJCOSX\n" + ORCA_DFT.format("B88", "LYP", "0.53"), "B2PLYP"),
        ("ORCA", "|  1> ! r2scan-3c\n" + ORCA_DFT.format("R2SCAN", "R2SCAN", "0.0"), "R2SCAN-3C"),
        ("ORCA", "|  1> ! DLPNO-CCSD(T) cc-pVDZ # B3LYP\n" + ORCA_HF, "DLPNO-CCSD(T)"),
        ("ORCA", "|  1> ! HF def2-SVP\n" + ORCA_HF, "HF"),
        ("ORCA", "|  1> ! ZINDO/S\n" + ORCA_HF.replace("Hartree-Fock", "ZINDO/S"), ""),
        ("NWChem", NWCHEM.format(BP86), "BP86"),
        ("NWChem", NWCHEM.format(PBE0), "PBE0"),
        ("NWChem", NWCHEM.format("                         B3LYP Method XC Potential"), "B3LYP"),
        ("NWChem", NWCHEM.format(BP86) + "             DFT-D3 Model\n", "BP86-D3"),
        ("QChem", QCHEM.format("method = b3lyp\ndft_d = d3_bj"), "B3LYP-D3(BJ)"),
        ("QChem", QCHEM.format("EXCHANGE\tb\ncorrelation lyp"), "BLYP"),
        ("QChem", QCHEM.format("exchange hf\ncorrelation rimp2"), "RIMP2"),
        ("QChem", QCHEM.format("method cis"), "HF"),
        ("Psi4", "   => Composite Functional: BP86-D3ZERO2B <= \n", "BP86-D3"),
        ("Psi4", "   => Energetics <=\n", "HF"),
        (
            "Molpro",
            " Density functional group B3LYP=B88+DIRAC+LYP+VWN5\n PROGRAM * RKS-SCF (Restricted)\n        KS-SCF\n",
            "B3LYP",
        ),
        ("Molpro", "1PROGRAM * RHF-SCF (CLOSED SHELL)\n        CCSD(T)         HF-SCF\n", "CCSD(T)"),
        ("Molpro", "1PROGRAM * UHF-SCF \n        UHF-SCF\n", "HF"),
        ("GAMESSUK", " * SCF TYPE                                uhf      *\n", "HF"),
        ("GAMESSUK", " * SCF TYPE     rhf  *\n B3LYP exchange-correlation functional selected\n", "B3LYP"),
        (
            "Jaguar",
            "   SCF calculation type: UDFT(b3lyp-d3)\n SCF type: UDFT=Becke_3_Parameter/... (B3LYP)\n",
            "B3LYP-D3",
        ),
        ("Jaguar", " SCF type: DFT=Becke_3_Parameter/HF+Slater+Becke88+VWN+LYP (B3LYP)\n", "B3LYP"),
        ("Jaguar", "   Post-SCF correlation type: LMP2            \n SCF type: HF\n", "LMP2"),
        (
            "Molcas",
            "--- Start Module: scf at\n   UHF B3LYP      iterations: Energy and convergence\n:: Total KS-DFT energy",
            "B3LYP",
        ),
        ("Molcas", "--- Start Module: scf at\n--- Start Module: caspt2 at\n", "CASPT2"),
    ],
)
def test_names_of_methods(program, text, method):
    assert method_of(text, program, {}) == method


@pytest.mark.parametrize(
    ("metadata", "method"),
    [
        ({"methods": ["HF", "MP2", "MP3"]}, "MP3"),
        ({"methods": ["DF-MP2"]}, "DF-MP2"),
        ({"methods": ["DFT"], "functional": "M06-2X"}, "M06-2X"),
        ({"methods": ["DFT"]}, ""),
        ({"methods": ["ROHF"]}, "HF"),
        ({}, ""),
    ],
)
def test_what_cclib_names_stands_in(metadata, method):
    assert method_of("", "Psi4", metadata) == method
