"""Self-consistent fields: what is computed, engines that compute it, and series of wavefunctions along geometries."""
