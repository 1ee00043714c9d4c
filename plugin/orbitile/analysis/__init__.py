"""What follows from fields and orbitals: charges, planes, extrema, correlation diagrams, summaries of a calculation."""
