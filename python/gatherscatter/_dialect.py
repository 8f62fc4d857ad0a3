"""What the dialects share: arrays of any library, their dtypes by NumPy's names, and messages."""

import sys
from collections.abc import Collection
from typing import Any

from gatherscatter import dispatch


def arrays(operator: str, **arguments: Any) -> list[Any]:
    """Make the arguments arrays of one library, as the core does; scalars and lists stay where they are updates."""
    return dispatch.route(operator, arguments)[1]


def dtype_name(array: Any) -> str:
    """Name of an array's dtype as NumPy has it, whatever the library; "str" for strings of any kind."""
    dtype = array.dtype
    if getattr(dtype, "kind", "") in ("U", "S", "O", "T"):
        return "str"
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def check_dtype(operator: str, argument: str, array: Any, accepted: Collection[str], source: str) -> None:
    """Refuse what the source document does not take."""
    if dtype_name(array) not in accepted:
        raise TypeError(
            f"{operator}: {argument} has dtype {array.dtype}, but {source} takes {', '.join(accepted)}: "
            "convert it to one of these"
        )


def namespace(array: Any) -> Any:
    """The array-API namespace of an array."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        import array_api_compat.torch  # at once: torch.compile warns of the caches in array_namespace

        return array_api_compat.torch
    from array_api_compat import array_namespace

    return array_namespace(array)


def no_such(operator: str, what: str, has: str) -> ValueError:
    """Say that a version lacks something, and where it is to be had."""
    return ValueError(f"{operator}: {what}; it comes with {has}")
