#!/usr/bin/env node
// SPDX-License-Identifier: BSD-3-Clause
// A process worth capturing: JavaScript objects, maps and arrays of the words,
// lines and places of real text.
//
// usage: words.js LIST PAGES
// Reads the files named in LIST, again and again, until PAGES anonymous pages
// are resident; then says "ready" and waits to be killed.

'use strict';

const fs = require('fs');

const [list, want] = process.argv.slice(2);
const documents = [];
const places = new Map();
const follows = new Map();

function anonymousPages() {
  const status = fs.readFileSync('/proc/self/status', 'ascii');
  const match = /^RssAnon:\s+(\d+)/m.exec(status);
  if (!match)
    throw new Error('/proc/self/status: no RssAnon');
  return match[1] / 4;
}

function add(name) {
  let lines, last;
  try {
    lines = fs.readFileSync(name, 'utf8').split('\n');
  } catch (e) {
    return;
  }
  const doc = { name, lines, readAt: Date.now() };
  documents.push(doc);
  lines.forEach((line, nr) => {
    for (const match of line.matchAll(/\w+/g)) {
      const word = match[0];
      if (!places.has(word))
        places.set(word, []);
      places.get(word).push({ doc, line: nr, column: match.index });
      if (last !== undefined) {
        if (!follows.has(last))
          follows.set(last, {});
        const after = follows.get(last);
        after[word] = (after[word] || 0) + 1;
      }
      last = word;
    }
  });
}

function build() {
  const names = fs.readFileSync(list, 'utf8').split('\n').filter(Boolean);
  for (;;) {
    for (const name of names) {
      add(name);
      if (anonymousPages() >= Number(want))
        return;
    }
    if (places.size === 0)
      throw new Error(`${list}: no text in these files`);
  }
}

build();
fs.writeSync(1, 'ready\n');
setTimeout(() => documents.length + follows.size, 600000);
