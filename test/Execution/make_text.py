#!/usr/bin/env python3
"""Prints seeded text for tests: sentences of a small vocabulary, so that a model has something to learn.

usage: make_text.py [CHARACTERS] > corpus.txt
"""
import random
import sys

SUBJECTS = ["the sun", "a river", "my brother", "the old king", "every bird", "one ship"]
VERBS = ["sees", "follows", "remembers", "crosses", "hides from", "sings to"]
OBJECTS = ["the sea", "a mountain", "the winter", "his daughter", "the road home", "nothing"]

count = int(sys.argv[1]) if len(sys.argv) > 1 else 40000
generator = random.Random(7)
text = ""
while len(text) < count:
    words = [generator.choice(SUBJECTS), generator.choice(VERBS), generator.choice(OBJECTS)]
    sentence = " ".join(words)
    text += sentence[0].upper() + sentence[1:] + generator.choice([".", "!", ";", "?"]) + generator.choice([" ", " ", "\n"])
sys.stdout.write(text[:count])
