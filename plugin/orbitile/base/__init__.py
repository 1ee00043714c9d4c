"""What every room needs: errors, progress, memory, registries, arguments, imports that are safe, temporary files."""
