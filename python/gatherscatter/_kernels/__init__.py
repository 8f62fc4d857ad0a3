"""The compiled modules. They take NumPy arrays of checked shapes and return a status; Python raises the errors."""
