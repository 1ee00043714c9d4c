"""Excited states computed by PySCF, as a log would have them."""

from dataclasses import replace

import numpy as np

import orbitile as ob
from orbitile.model.wavefunction import Excitation


def formaldehyde(charge, method, folder):
    """Formaldehyde, or its cation: the molecule and three states of PySCF, by TDA or TDHF, and our wavefunction."""
    from pyscf import gto, scf, tdscf
    from pyscf.tools import molden

    mol = gto.M(
        atom="C 0 0 0; O 0 0 1.2; H 0 0.94 -0.59; H 0 -0.94 -0.59", basis="6-31g", charge=charge, spin=charge, verbose=0
    )
    mean_field = (scf.RHF if charge == 0 else scf.UHF)(mol).run(conv_tol=1e-11)
    states = getattr(tdscf, method)(mean_field)
    states.nstates = 3
    states.kernel()
    path = folder / "m.molden"
    molden.from_scf(mean_field, str(path), ignore_h=False)
    excitations = []
    strengths = states.oscillator_strength()
    for energy, strength, (x, y) in zip(states.e, strengths, states.xy, strict=True):
        rows = []
        for spin, (block, back) in enumerate([(x, y)] if charge == 0 else zip(x, y, strict=True)):
            n_occupied = block.shape[0]
            for i, a in np.ndindex(block.shape):
                rows.append((i, n_occupied + a, spin, block[i, a]))
                if np.ndim(back):
                    rows.append((n_occupied + a, i, spin, back[i, a]))
        source, target, spins, amplitudes = (np.array(column) for column in zip(*rows, strict=True))
        norm = np.sum(np.where(source < target, 1, -1) * amplitudes**2)
        excitations.append(Excitation(source, target, spins, amplitudes / np.sqrt(norm), energy, strength, "", 1.0))
    return mol, states, replace(ob.load(path), excitations=tuple(excitations))
