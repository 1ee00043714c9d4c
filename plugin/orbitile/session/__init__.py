"""What a host shows, and how it comes to be shown: what every host needs, and no host is needed for.

- host: what a program has to do to be a host, `Viewer` or `TrajectoryViewer`, and what it may do, in groups
- shelf: what is shown, known and changed there alone; shown is one surface of it
- computing: what computes, a worker process or this one; caches, waiting, cancelling
- preparing: kernels made ready in the worker while nobody asks for anything; advance is a share that a bar shows
- session: both together, as commands want them; live is the molecule whose electrons follow its atoms
- commands: those that users have in all consoles, each declared once (declaration)
- player: frames of trajectories, kept in step with the one that is seen; film is one surface
- window: what a user does in a window, without the window; asking is what it has asked of the worker
- picture: what a picture or a film shows, and what draws it in a worker; seen puts it together, saving has it drawn
- recipe: how to have again what is shown
- source: where the wavefunctions of a molecule come from; fingerprint is what their files held
"""
