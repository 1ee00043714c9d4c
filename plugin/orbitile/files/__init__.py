"""Files as bytes and text: read whatever their compression and encoding, written whole or not at all."""
