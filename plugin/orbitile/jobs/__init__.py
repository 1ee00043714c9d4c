"""Many files: the same asked of each, one record a file, and a table and a contact sheet of all."""
