"""What a window does, without the window: a `Browser` that holds activities, each of which is tried by itself."""
