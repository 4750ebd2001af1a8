// node validate.js DIR: judges the logs in DIR, and ends with 1 if anything in
// them is beside GitHub's description.
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { Judge, versions } from './judge.js'

const judge = new Judge()
const dir = process.argv[2]
for (const file of fs.readdirSync(dir).filter(f => f.endsWith('.jsonl'))) {
  for await (const line of readline.createInterface({ input: fs.createReadStream(path.join(dir, file)) })) {
    judge.line(JSON.parse(line))
  }
}
const { count } = judge
console.log(`GitHub's description: ${versions}`)
console.log(Object.entries(count).map(([what, n]) => `${n} ${what}`).join(', '))
console.log(`${judge.operations.size} operations, ${judge.events.size} kinds of webhook`)
for (const [deviation, times] of judge.allowed) console.log(`allowed ${times} times: ${deviation.why}`)
for (const [fault, { times, example }] of judge.found) console.error(`${fault} (${times} times, as in ${example})`)
for (const why of judge.unneeded) console.error(`an allowance that nothing needs: ${why}`)
for (const what of ['requests', 'answers', 'payloads']) {
  // A log without them would have no faults either.
  if (!count[what]) console.error(`no ${what} in ${dir}`)
}
process.exitCode = judge.found.size || judge.unneeded.length || !count.requests || !count.answers || !count.payloads ? 1 : 0
