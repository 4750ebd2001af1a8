// Shows that the judge finds what is wrong: each case is a line that differs
// from a good one in one thing.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Judge } from './judge.js'

const good = {
  kind: 'rest', program: 'some.test', method: 'POST', path: '/repos/acme/engine/check-runs', type: 'application/json',
  request: JSON.stringify({ name: 'benchmark', head_sha: 'a'.repeat(40), status: 'queued' }),
  status: 404, answer: JSON.stringify({ message: 'Not Found', documentation_url: 'https://docs.github.com/rest', status: '404' })
}

function faults(line) {
  const judge = new Judge()
  judge.line(line)
  return [...judge.found.keys()]
}

const body = change => ({ request: JSON.stringify({ ...JSON.parse(good.request), ...change }) })

test('a good exchange has no fault', () => assert.deepEqual(faults(good), []))

for (const [what, change, want] of [
  ['an address that GitHub does not have', { path: '/repos/acme/engine/check-run' }, /no such address/],
  ['a method that the address does not take', { method: 'DELETE' }, /no such address/],
  ['a body without what is required', { request: '{"name":"benchmark"}' }, /required property 'head_sha'/],
  ['a body with a value of another type', body({ external_id: 5 }), /external_id: must be string/],
  ['a body with a value that is not offered', body({ conclusion: 'splendid' }), /conclusion: must be equal to one of/],
  ['a body with a property that is not described', body({ colour: 'red' }), /colour: is not described/],
  ['a body that is not said to be JSON', { type: 'text/plain' }, /Content-Type is text\/plain/],
  ['an answer that is not described', { status: 418 }, /status 418: is not described/],
  ['an answer of another shape', { status: 201, answer: '{"id":"7"}' }, /required property 'head_sha'/],
  ['an answer of another type', { status: 201, answer: '{"id":"7"}' }, /\/id: must be integer/],
  ['an answer that is not JSON', { answer: 'Not Found' }, /not JSON/],
  ['a query that is not described', { method: 'GET', path: '/repos/acme/engine/pulls', request: '', query: 'labels=x' }, /query labels: is not described/],
  ['a query of another type', { method: 'GET', path: '/repos/acme/engine/pulls', request: '', query: 'page=two' }, /page = two: .*must be integer/],
  ['a part of an address of another type', { method: 'GET', path: '/repos/acme/engine/pulls/one', request: '' }, /pull_number = one: .*must be integer/]
]) {
  test(`${what} is found`, () => {
    const found = faults({ ...good, ...change })
    assert.ok(found.some(f => want.test(f)), `found ${JSON.stringify(found)}`)
  })
}

test('a slash in a file’s path or a branch’s name belongs to it', () => {
  for (const path of ['/repos/acme/engine/contents/.github/benchmark.yml', '/repos/acme/engine/git/ref/heads/a/b', '/repositories/7/compare/a...b/c']) {
    assert.deepEqual(faults({ ...good, method: 'GET', path, request: '' }), [], path)
  }
})

test('an answer of a fault’s making is not judged', () => {
  assert.deepEqual(faults({ ...good, status: 599, answer: '<html>', made_up: true }), [])
})

test('a webhook that is not described, or of another shape, is found', () => {
  const hook = { kind: 'webhook', program: 'some.test', event: 'pull_request', body: '{"action":"labelled"}' }
  assert.match(faults(hook)[0], /no such event/)
  assert.ok(faults({ ...hook, body: '{"action":"labeled","number":1}' }).some(f => /required property 'pull_request'/.test(f)))
})
