"""The border between processes."""
