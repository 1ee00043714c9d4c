"""What every host needs and no host is needed for: computing in a process of its own, and what is shown of what."""
