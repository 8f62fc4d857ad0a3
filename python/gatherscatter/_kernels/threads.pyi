openmp_version: int
compiler: str

def max_threads() -> int: ...
