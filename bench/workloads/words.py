#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A process worth capturing: Python objects, dicts and lists of the words,
lines and places of real text.

usage: words.py LIST PAGES
Reads the files named in LIST, again and again, until PAGES anonymous pages
are resident; then says "ready" and waits to be killed.
"""

import re
import sys
import time

WORD = re.compile(r"\w+")


class Place:
    def __init__(self, document, line, column):
        self.document = document
        self.line = line
        self.column = column


class Document:
    def __init__(self, name, lines):
        self.name = name
        self.lines = lines
        self.read_at = time.time()


def anonymous_pages():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 4
    sys.exit("/proc/self/status: no RssAnon")


def add(name, documents, places, follows):
    try:
        with open(name, encoding="utf-8", errors="replace") as text:
            document = Document(name, text.readlines())
    except OSError:
        return
    documents.append(document)
    last = None
    for nr, line in enumerate(document.lines):
        for match in WORD.finditer(line):
            word = match.group()
            places.setdefault(word, []).append(
                Place(document, nr, match.start())
            )
            if last is not None:
                after = follows.setdefault(last, {})
                after[word] = after.get(word, 0) + 1
            last = word


def build(names, want):
    documents, places, follows = [], {}, {}
    while True:
        for name in names:
            add(name, documents, places, follows)
            if anonymous_pages() >= want:
                return documents, places, follows
        if not places:
            sys.exit(f"{sys.argv[1]}: no text in these files")


def main():
    with open(sys.argv[1], encoding="utf-8") as names:
        kept = build(names.read().splitlines(), int(sys.argv[2]))
    print("ready", flush=True)
    time.sleep(600)
    del kept


main()
