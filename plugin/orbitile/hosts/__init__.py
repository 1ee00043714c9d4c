"""Programs that Orbitile works inside of, one package each."""
