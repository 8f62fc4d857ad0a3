"""Arrays with false attributes, and arguments that change the arrays of their own call: an error, or a result."""

import gatherscatter as gs
import numpy as np
import pytest
from fault_hook import run_cases

SHOWN = 5


class OfShape5(np.ndarray):
    shape = property(lambda self: (5,))


class Float64(np.ndarray):
    dtype = property(lambda self: np.dtype("f8"))


class Writeable(np.ndarray):
    class flags:
        writeable = c_contiguous = True


class Acting:
    """A scalar whose value is an action."""

    def __init__(self, action):
        self.action = action

    def __index__(self):
        self.action()
        return 0

    def __array__(self, *_, **__):
        self.action()
        return np.array(0.0)


def test_subclasses_that_define_attributes_anew():
    three, narrow = np.arange(3.0).view(OfShape5), np.arange(5, dtype="i1").view(Float64)
    with pytest.raises(IndexError, match=r"indices\[0\] = 4 is out of bounds for data of shape \(3,\)"):
        gs.gather(three, [4])
    with pytest.raises(ValueError, match=r"out has shape \(3,\)"):
        gs.scatter(np.arange(5.0), [4], np.array([1.0]), out=three)
    with pytest.raises(TypeError, match="data has int8"):
        gs.scatter(narrow, [4], np.array([1.0]), reduction="add")
    locked = np.arange(5.0)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        gs.scatter(locked, [0], np.array([7.0]), out=locked.view(Writeable))
    assert locked[0] == 0


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # which this test is about
def test_scalars_that_change_an_array_of_the_call():
    data = np.arange(100_000.0).reshape(100, 1000)

    def flatten():
        data.shape = (100_000,)

    with pytest.raises(RuntimeError, match="the shape, dtype or flags of an array changed during the call"):
        gs.gather_nd(data, np.array([[99, 999]]), mode="fill", fill_value=Acting(flatten))
    data.shape = (100, 1000)
    with pytest.raises(IndexError, match="for data of shape \\(100000,\\)"):
        gs.gather(data, np.array([100_000]), axis=Acting(flatten))


@pytest.mark.slow
def test_arguments_that_lie_or_change_others():
    faults, trials = run_cases("change_arguments.py", timeout=600)
    print(f"{trials} calls")  # shown by -rP
    assert trials > 1000
    assert not faults, "\n\n".join([f"{len(faults)} faults in {trials} calls", *faults[:SHOWN]])
