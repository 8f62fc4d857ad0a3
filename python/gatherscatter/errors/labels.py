"""Messages of measurements by labels: the dialect ndimage."""

from collections.abc import Sequence

from gatherscatter.errors.text import a, shown, type_name


def masked(name: str, argument: str, value: object) -> TypeError:
    return TypeError(
        f"{name}: {argument} is {a(type_name(value))}, whose mask would have no effect; pass {argument}.data, with "
        "the label 0 where it is masked"
    )


def input_dtype(name: str, dtype: object, ordered: bool) -> TypeError:
    if ordered and str(dtype).startswith("complex"):
        return TypeError(f"{name}: input has dtype {dtype}, which has no order; pass input.real or abs(input)")
    return TypeError(f"{name}: input has dtype {dtype}; pass bools, integers or floats of at most 64 bits")


def label_dtype(name: str, argument: str, dtype: object) -> TypeError:
    fix = "unique labels are numbered by numpy.unique(labels, return_inverse=True)[1]; pass these"
    return TypeError(f"{name}: {argument} has dtype {dtype}, but labels are integers, bools or floats; {fix}")


def shapes(name: str, labels: Sequence[int], data: Sequence[int]) -> ValueError:
    return ValueError(
        f"{name}: labels of shape {tuple(labels)} does not broadcast to input of shape {tuple(data)}; pass a label for "
        "each element"
    )


def no_element(name: str, has_labels: bool, index: object) -> ValueError:
    """One group, without an element. Several groups have 0 then."""
    if has_labels:
        which = "no label is above 0" if index is None else f"no label is index={shown(index)}"
        fix = f"index=[{1 if index is None else shown(index)}], which gives 0"
    else:
        which, fix = "input is empty", "input with elements"
    return ValueError(f"{name}: {which}, and there is no {name} of nothing; pass {fix}")


def no_labels(name: str, index: object) -> ValueError:
    return ValueError(f"{name}: index={shown(index)} selects labels, but labels is None; pass labels, or no index")


def bins(name: str, number: int) -> ValueError:
    return ValueError(f"{name}: bins={number} is below 1; pass the number of bins")


def bounds(name: str, least: object, greatest: object) -> ValueError:
    return ValueError(
        f"{name}: min={shown(least)} and max={shown(greatest)} bound no range; pass finite numbers, the lower one first"
    )


def no_comprehension(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"{name}: a Python function is not called for each label; call gatherscatter.segment_reduce, which has most "
        'reductions, or with rows = gatherscatter.prepare("segment", input.shape, labels) take the elements of each '
        "label as numpy.split(input.reshape(-1)[rows.order], rows.indptr[1:-1])"
    )
