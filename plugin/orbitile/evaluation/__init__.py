"""Fields on lattices and at points: devices, memory, slabs, surfaces, isovalues."""
