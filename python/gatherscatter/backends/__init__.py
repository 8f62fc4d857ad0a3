"""One module per kind of array, each with a `BACKEND`: an instance of a class derived from `base.Backend`."""
