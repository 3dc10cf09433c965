// The object that carries the precompiled header.
