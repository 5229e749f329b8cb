#!/usr/bin/env python3
"""Makes docs/examples/logits_next_character.npy: the logits of a small language model, as a real input for softmax.

  docs/examples/make_logits.py               writes the array beside this script
  docs/examples/make_logits.py --check       compares it with what would be written; exit code 1 if it differs
  warpcheck verify softmax --input docs/examples/logits_next_character.npy

The model is multinomial logistic regression: the logit of the next character is a bias plus one weight per character of
the four before it, trained by gradient descent on the opening of "Alice's Adventures in Wonderland" (Lewis Carroll,
1865, public domain) below. One row per position of the text, one column per character of its alphabet; f32.
Logits are rounded to multiples of 2^-12, so that the last bits of a library's exp cannot change the file.
"""

import argparse
import io
import pathlib
import sys

try:
    import numpy
except ImportError as error:
    numpy, PROBLEM = None, f"numpy is needed: {error}"

TEXT = (
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or "
    "twice she had peeped into the book her sister was reading, but it had no pictures or conversations in it, "
    '"and what is the use of a book," thought Alice, "without pictures or conversations?" '
    "So she was considering in her own mind (as well as she could, for the hot day made her feel very sleepy and "
    "stupid), whether the pleasure of making a daisy-chain would be worth the trouble of getting up and picking the "
    "daisies, when suddenly a White Rabbit with pink eyes ran close by her."
)
CONTEXT = 4
ROWS = 400
STEPS = 60
RATE = 2.0


def logits():
    text = TEXT.lower()
    alphabet = sorted(set(text))
    codes = numpy.array([alphabet.index(c) for c in text])
    positions = numpy.arange(CONTEXT, len(codes))
    contexts = [codes[positions - 1 - k] for k in range(CONTEXT)]
    targets = codes[positions]
    bias = numpy.zeros(len(alphabet))
    weights = [numpy.zeros((len(alphabet), len(alphabet))) for _ in range(CONTEXT)]

    def evaluate():
        z = numpy.tile(bias, (len(positions), 1))
        for weight, context in zip(weights, contexts):
            z += weight[context]
        return z

    frequency = numpy.bincount(codes, minlength=len(alphabet))[:, None]
    for _ in range(STEPS):
        z = evaluate()
        p = numpy.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[numpy.arange(len(targets)), targets] -= 1
        # Each weight's step is scaled by how often its context character occurs.
        bias -= RATE * p.mean(axis=0)
        for weight, context in zip(weights, contexts):
            gradient = numpy.zeros_like(weight)
            numpy.add.at(gradient, context, p)
            weight -= RATE * gradient / (frequency + 4)
    z = evaluate()
    guessed = (z.argmax(axis=1) == targets).mean()
    print(f"{len(positions)} positions, {len(alphabet)} characters, {guessed:.0%} of the next characters guessed")
    return (numpy.round(z[:ROWS] * 4096) / 4096).astype("<f4")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    if numpy is None:
        print(f"{'WARPCHECK_SKIP: ' if check else ''}{PROBLEM}", file=sys.stderr)
        return 3
    path = pathlib.Path(__file__).resolve().parent / "logits_next_character.npy"
    array = logits()
    file = io.BytesIO()
    numpy.lib.format.write_array(file, array, version=(1, 0))
    if not check:
        path.write_bytes(file.getvalue())
        print(f"{path.name}: {array.shape[0]} x {array.shape[1]}, {array.min()} to {array.max()}")
    elif not path.is_file() or path.read_bytes() != file.getvalue():
        print(f"{path.name}: the script gives other bytes")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
