// Judges the lines of the stand-in's log (see exchangelog.go): every request,
// answer and webhook payload by GitHub's own description.
import { Rest } from './rest.js'
import { Webhooks } from './webhooks.js'
import * as allowances from './allowances.js'

const rest = new Rest()
const webhooks = new Webhooks()

export const versions = `REST ${rest.version}, webhooks ${webhooks.version}`

export class Judge {
  count = { requests: 0, answers: 0, payloads: 0, 'answers made up by faults': 0, 'cut connections': 0, 'requests of the stand-in’s own tests': 0, 'too long to be logged': 0 }
  operations = new Set()
  events = new Set()
  found = new Map() // from a fault to how often it was there, and where first
  allowed = new Map(allowances.deviations.map(d => [d, 0]))

  line(x) {
    if (x.cut) this.count['too long to be logged']++
    else if (x.kind === 'rest') this.#rest(x)
    else this.#webhook(x)
  }

  // unneeded are the deviations that did not occur.
  get unneeded() { return [...this.allowed].filter(([, times]) => times === 0).map(([d]) => d.why) }

  #tell(place, faults, example) {
    for (const fault of faults) {
      const deviation = allowances.deviations.find(d => d.place.test(place) && d.fault.test(fault))
      if (deviation) this.allowed.set(deviation, this.allowed.get(deviation) + 1)
      else {
        const known = this.found.get(`${place}: ${fault}`) ?? { times: 0, example: example.slice(0, 300) }
        known.times++
        this.found.set(`${place}: ${fault}`, known)
      }
    }
  }

  #rest(x) {
    const exchange = { ...x, path: x.path.replace(...allowances.byID) }
    const route = rest.route(exchange)
    const place = `${x.method} ${route?.template ?? x.path}`
    // What the stand-in's own tests ask is meant to be wrong now and then.
    if (x.program.startsWith('forgetest.')) this.count['requests of the stand-in’s own tests']++
    else {
      this.count.requests++
      this.#tell(`request ${place}`, route ? rest.request(exchange, route) : ['the description has no such address'],
        `${x.path}?${x.query ?? ''} ${x.request ?? ''}`)
    }
    if (!x.status) this.count['cut connections']++
    else if (x.made_up) this.count['answers made up by faults']++
    else if (route && !allowances.moved.includes(x.status)) {
      this.count.answers++
      this.operations.add(place)
      this.#tell(`answer ${x.status} of ${place}`, rest.answer(exchange, route, allowances.general), x.answer ?? '')
    }
  }

  #webhook(x) {
    const payload = JSON.parse(x.body)
    const name = [x.event, payload.action].filter(Boolean).join(' ')
    this.count.payloads++
    this.events.add(name)
    this.#tell(`webhook ${name}`, webhooks.faults(x.event, payload) ?? ['the description has no such event'], x.body)
  }
}
