"""The path from a request to a picture, for the command line, sessions, notebooks and batches; pages and films."""
