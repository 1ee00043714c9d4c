"""The path from a request to a picture, for the command line, sessions, notebooks and batches, and films.

request (what is asked for) -> surface (field, isovalue, lattice, surface, colours) -> pages, pictures
shots (what each picture of a film shows) -> framing (one lattice and one camera for all) -> animation -> writing
"""
