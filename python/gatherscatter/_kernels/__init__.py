"""The compiled modules. They take NumPy arrays whose shapes were checked, and report; they explain nothing."""
