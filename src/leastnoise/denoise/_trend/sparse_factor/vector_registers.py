"""Products of small blocks in vector registers, for compiled loops. Blocks have two rows of two numbers, or three rows
of three and a zero, so that four numbers are a vector:

    pairs  (a00 a01 a10 a11)        triples  (a00 a01 a02 0) (a10 a11 a12 0) (a20 a21 a22 0)

Numba does not look for vectors in straight code, so they are written in LLVM's own terms, which fit any processor.
A factor is a tuple of all its numbers, row by row: four or nine, which tells the two kinds apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

VECTOR_WIDTH = 4  # doubles
VECTOR = ir.VectorType(ir.DoubleType(), VECTOR_WIDTH)
INDEX = ir.IntType(32)
CONTRACT = ("contract",)  # a product and a sum may be rounded once
Code = Callable[[Any, Any, Any, Sequence[Any]], Any]


def compiled_intrinsic(function: Callable[..., tuple[Any, Code]]) -> Any:
    """To be called from compiled loops, without the first argument."""
    return intrinsic(function)


@compiled_intrinsic
def subtract(_: Any, x: Any, i: Any, blocks: Any, places: Any, factors: Any) -> tuple[Any, Code]:
    """x[i] -= sum over p of blocks[places[p]] factors[p]'."""

    def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        kinds = signature.args
        block = Block(builder, kinds[4].dtype.count)
        target = block.pointers(context, kinds[0], args[0], args[1])
        taken = []
        for p in range(kinds[3].count):
            source = block.pointers(context, kinds[2], args[2], builder.extract_value(args[3], p))
            taken.append((source, block.columns(builder.extract_value(args[4], p))))
        for row, here in enumerate(target):
            total = builder.load(here, align=8)
            for source, columns in taken:
                for spread, column in zip(block.spread(source[row]), columns, strict=True):
                    total = builder.fsub(total, builder.fmul(spread, column, flags=CONTRACT), flags=CONTRACT)
            builder.store(total, here, align=8)
        return context.get_dummy_value()

    return types.void(x, types.int64, blocks, places, factors), code


@compiled_intrinsic
def settle(_: Any, blocks: Any, e: Any, x: Any, i: Any, factor: Any) -> tuple[Any, Code]:
    """blocks[e] = x[i] factor', x[i] = 0."""

    def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        kinds = signature.args
        block = Block(builder, kinds[4].count)
        columns = block.columns(args[4])
        zero = ir.Constant(VECTOR, [0.0] * VECTOR_WIDTH)
        targets = block.pointers(context, kinds[0], args[0], args[1])
        for here, there in zip(targets, block.pointers(context, kinds[2], args[2], args[3]), strict=True):
            total = zero
            for spread, column in zip(block.spread(there), columns, strict=True):
                total = builder.fadd(total, builder.fmul(spread, column, flags=CONTRACT), flags=CONTRACT)
            builder.store(total, here, align=8)
            builder.store(zero, there, align=8)
        return context.get_dummy_value()

    return types.void(blocks, types.int64, x, types.int64, factor), code


class Block:
    """How a block of so many numbers lies in vectors."""

    def __init__(self, builder: Any, numbers: int) -> None:
        self.builder, self.side = builder, math.isqrt(numbers)
        self.width = {2: 2, 3: 4}[self.side]
        self.vectors = self.side * self.width // VECTOR_WIDTH

    def pointers(self, context: Any, kind: Any, array: Any, index: Any) -> list[Any]:
        """To the vectors of array[index]."""
        data = context.make_array(kind)(context, self.builder, array).data
        begin = self.builder.mul(index, ir.Constant(index.type, self.vectors))
        vectors = self.builder.bitcast(data, VECTOR.as_pointer())
        return [
            self.builder.gep(vectors, [self.builder.add(begin, ir.Constant(index.type, k))], inbounds=True)
            for k in range(self.vectors)
        ]

    def spread(self, pointer: Any) -> list[Any]:
        """For every k, the k-th number of a row in all places of that row."""
        vector = self.builder.load(pointer, align=8)
        nothing = ir.Constant(VECTOR, ir.Undefined)
        rows = [place - place % self.width for place in range(VECTOR_WIDTH)]
        masks = [ir.Constant(ir.VectorType(INDEX, VECTOR_WIDTH), [row + k for row in rows]) for k in range(self.side)]
        return [self.builder.shuffle_vector(vector, nothing, mask) for mask in masks]

    def columns(self, factor: Any) -> list[Any]:
        """For every k, the k-th column of a factor along each row."""
        made = []
        for k in range(self.side):
            vector = ir.Constant(VECTOR, [0.0] * VECTOR_WIDTH)
            for place in range(VECTOR_WIDTH):
                if place % self.width < self.side:
                    number = self.builder.extract_value(factor, place % self.width * self.side + k)
                    vector = self.builder.insert_element(vector, number, ir.Constant(INDEX, place))
            made.append(vector)
        return made
