"""The states of instances whose cells were made anew: the sets of their keys."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.layout import DONE, NEED_SPACE
from livejoin.kernels.parameters import Addresses, Words
from livejoin.kernels.transitions.buffers import opened
from livejoin.kernels.transitions.layout import (
    C_KEY,
    C_TIMES,
    F_INSTANCE,
    FOUND,
    H_INSTANCE,
    H_INSTANCES,
    I_HEAD,
    I_STATE,
    N_STATES,
    S_REFS,
    STATE,
    TOUCHED,
    U_CELL,
    U_NEXT,
)
from livejoin.kernels.transitions.make import find_or_add_state
from livejoin.kernels.transitions.register import end_version
from livejoin.kernels.transitions.states import bit, key_hash, stride_of


@kernel
def settle(state: Addresses, known: Words) -> int:
    """Let every touched instance, all of whose cells are touched, be in the state of its keys, and end the version.

    Args:
        state: The state; changed. H_INSTANCE is where an interrupted call stands, 0 to begin.
        known: The states; changed.

    Returns:
        DONE, or NEED_SPACE: make room for more states and call again.
    """
    s = opened(state)
    m, touched, found = s.live, s.touched, s.found
    stride = stride_of(known)
    while m[H_INSTANCE] < m[H_INSTANCES]:
        last = known.counts[N_STATES] * stride
        if last + 2 * stride > known.states.shape[0] or 2 * known.counts[N_STATES] + 2 > known.state_slots.shape[0]:
            return NEED_SPACE
        for word in range(STATE, stride):
            known.states[last + word] = 0
        instance = found[m[H_INSTANCE] * FOUND + F_INSTANCE]
        h = 0
        link = m[instance + I_HEAD]
        while link != 0:
            cell = touched[(link - 1) * TOUCHED + U_CELL]
            if m[cell + C_TIMES] > 0:
                key = m[cell + C_KEY + 1]
                known.states[last + STATE + (key >> 6)] |= bit(key)
                h ^= key_hash(key)
            link = touched[(link - 1) * TOUCHED + U_NEXT]
        number = find_or_add_state(known, h)
        known.states[number * stride + S_REFS] += 1
        m[instance + I_STATE] = number
        m[H_INSTANCE] += 1
    m[H_INSTANCE] = 0
    end_version(s)
    return DONE
