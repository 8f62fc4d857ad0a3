"""One module per kind of array, all with the same functions and signatures.

``owns(value)``
    Whether a value is an array of this library.
``as_array(operator, argument, value, like)``
    Make a list or scalar an array of the library that `like` belongs to.
``same_library(a, b)``
    Whether two arrays that this backend owns may meet in one call.
``gather(data, indices, plan, fill_value, out)``, ``scatter(data, indices, updates, plan, out)``
    Steps 2 and 3 of any operator, for a plan that `gatherscatter.shapes` made. `updates` may be a scalar or a list.

and, where plain arrays of other backends may stand beside its own, `BESIDE`, a tuple of those modules,

and, where a small call can do without a plan, `SMALL`, the one class that all its arrays are of, and

``try_gather(kind, data, indices, axis, batch_dims)`` and
``try_scatter(kind, data, indices, updates, axis, batch_dims, reduction)``
    The result in mode "raise", or None where a rule is broken or another way is needed.
"""
