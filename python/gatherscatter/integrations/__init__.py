"""Other libraries that compute with gatherscatter. Each module imports its library, so it is imported by name."""
