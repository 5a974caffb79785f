#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A process worth capturing: an SQLite database in memory, of the lines and
words of real text, with indexes.

usage: database.py LIST PAGES
Reads the files named in LIST, again and again, until PAGES anonymous pages
are resident; then says "ready" and waits to be killed.
"""

import re
import sqlite3
import sys
import time

WORD = re.compile(r"\w+")

SCHEMA = """
create table documents (id integer primary key, name text, read_at real);
create table lines (id integer primary key, document integer, nr integer,
                    length integer, text text);
create table words (word text, line integer, position integer);
create index words_by_word on words (word, line);
create index lines_by_length on lines (length);
"""


def anonymous_pages():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 4
    sys.exit("/proc/self/status: no RssAnon")


def add(database, name):
    try:
        with open(name, encoding="utf-8", errors="replace") as text:
            lines = text.readlines()
    except OSError:
        return
    cursor = database.execute(
        "insert into documents (name, read_at) values (?, ?)",
        (name, time.time()),
    )
    document = cursor.lastrowid
    for nr, line in enumerate(lines):
        cursor = database.execute(
            "insert into lines (document, nr, length, text)"
            " values (?, ?, ?, ?)",
            (document, nr, len(line), line),
        )
        database.executemany(
            "insert into words values (?, ?, ?)",
            (
                (match.group(), cursor.lastrowid, match.start())
                for match in WORD.finditer(line)
            ),
        )
    database.commit()


def main():
    with open(sys.argv[1], encoding="utf-8") as names:
        names = names.read().splitlines()
    want = int(sys.argv[2])
    database = sqlite3.connect(":memory:")
    database.executescript(SCHEMA)
    while anonymous_pages() < want:
        for name in names:
            add(database, name)
            if anonymous_pages() >= want:
                break
    print("ready", flush=True)
    time.sleep(600)
    database.close()


main()
