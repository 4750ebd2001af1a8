// Loaded before Node's compare.js: sums the wall times of the processes that it
// starts, each from the moment that it runs to its exit, and writes the sum and
// the time from the first start to the last end, in seconds, to $CHILDREN_FILE.
'use strict';
const childProcess = require('child_process');
const { writeFileSync } = require('fs');
const { performance } = require('perf_hooks');

const fork = childProcess.fork;
let first, sum = 0;
childProcess.fork = function(...args) {
  first ??= performance.now();
  const child = fork.apply(this, args);
  const began = performance.now();
  child.once('exit', () => { sum += performance.now() - began; });
  return child;
};
if (process.env.CHILDREN_FILE) {
  const file = process.env.CHILDREN_FILE;
  process.execArgv = []; // compare.js's children do not load this
  delete process.env.CHILDREN_FILE;
  process.once('exit', () => {
    writeFileSync(file, JSON.stringify({ children: sum / 1e3, wall: (performance.now() - first) / 1e3 }));
  });
}
