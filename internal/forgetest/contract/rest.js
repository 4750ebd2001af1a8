// Judges REST exchanges by GitHub's description of its interface.
import { Schemas, load } from './schemas.js'

const methods = ['get', 'put', 'post', 'patch', 'delete']

export class Rest {
  #description = load('@octokit/openapi/generated/api.github.com.json')
  #bodies = new Schemas(this.#description)
  #texts = new Schemas(this.#description, true)
  #routes = []

  constructor() {
    for (const [template, item] of Object.entries(this.#description.paths)) {
      for (const method of methods.filter(m => item[m])) {
        const parameters = [...(item.parameters ?? []), ...(item[method].parameters ?? [])].map(p => this.#resolve(p))
        this.#routes.push({ template, method, operation: item[method], parameters, ...pattern(template, parameters) })
      }
    }
    // The most literal template wins, as in the description's own rules.
    this.#routes.sort((a, b) => b.literal - a.literal)
  }

  get version() { return this.#description.info.version }

  #resolve(thing) {
    if (!thing?.$ref) return thing
    return thing.$ref.slice(2).split('/').reduce((at, key) => at[key.replaceAll('~1', '/').replaceAll('~0', '~')], this.#description)
  }

  // route finds the operation of an exchange.
  route(exchange) {
    const method = exchange.method.toLowerCase()
    for (const route of this.#routes) {
      const match = route.method === method && route.expression.exec(exchange.path)
      if (match) return { ...route, values: match.groups }
    }
    return null
  }

  // request lists what is wrong with a request.
  request(exchange, route) {
    const faults = []
    const query = new URLSearchParams(exchange.query ?? '')
    for (const p of route.parameters) {
      const given = p.in === 'path' ? decodeURIComponent(route.values[p.name.replaceAll('-', '_')]) : p.in === 'query' ? query.get(p.name) : null
      if (given === null) {
        if (p.required && p.in === 'query') faults.push(`query ${p.name}: is required`)
        continue
      }
      faults.push(...this.#texts.faults(wrapped(p.schema), { value: given }).map(f => `${p.in} ${p.name} = ${given}: ${f}`))
    }
    for (const name of query.keys()) {
      if (!route.parameters.some(p => p.in === 'query' && p.name === name)) faults.push(`query ${name}: is not described`)
    }
    return [...faults, ...this.#requestBody(exchange, this.#resolve(route.operation.requestBody))]
  }

  #requestBody(exchange, described) {
    if (!exchange.request) return described?.required ? ['body: is required'] : []
    if (!described) return ['body: none is described']
    if (!/^application\/json\b/.test(exchange.type ?? '')) return [`body: Content-Type is ${exchange.type}`]
    const schema = this.#resolve(described.content['application/json'].schema)
    const body = JSON.parse(exchange.request)
    const known = names(schema, s => this.#resolve(s))
    const strange = known.size && body && typeof body === 'object' && !Array.isArray(body)
      ? Object.keys(body).filter(key => !known.has(key)).map(key => `body /${key}: is not described`) : []
    return [...strange, ...this.#bodies.faults(schema, body).map(f => `body ${f}`)]
  }

  // answer lists what is wrong with an answer. `general` are the answers that
  // GitHub gives to any request and describes outside of the single operations.
  answer(exchange, route, general) {
    const responses = route.operation.responses
    const status = String(exchange.status)
    const described = this.#resolve(responses[status])
    if (!described && general[status]) {
      return this.#json(exchange.answer, anyOf(general[status]))
    }
    if (!described) return [`status ${status}: is not described (${Object.keys(responses)})`]
    if (!described.content) return exchange.answer ? ['the answer has a body, and none is described'] : []
    const content = described.content['application/json'] ?? Object.values(described.content)[0]
    return content.schema ? this.#json(exchange.answer, content.schema) : []
  }

  #json(text, schema) {
    let value
    try {
      value = JSON.parse(text)
    } catch {
      return ['the answer is not JSON']
    }
    return this.#bodies.faults(schema, value)
  }
}

const choices = new Map()

function anyOf(schemas) {
  if (!choices.has(schemas)) choices.set(schemas, { anyOf: schemas.map(name => ({ $ref: `#/components/schemas/${name}` })) })
  return choices.get(schemas)
}

const wraps = new Map()

// wrapped puts a parameter's schema into an object, since only a property can be
// coerced from the text that it is in an address.
function wrapped(schema) {
  if (!wraps.has(schema)) wraps.set(schema, { type: 'object', properties: { value: schema ?? {} } })
  return wraps.get(schema)
}

// names are the properties that a schema knows, with those of its choices; none
// where anything may stand.
function names(schema, resolve) {
  const all = new Set(Object.keys(schema.properties ?? {}))
  for (const key of ['oneOf', 'anyOf', 'allOf']) {
    for (const one of schema[key] ?? []) for (const name of names(resolve(one), resolve)) all.add(name)
  }
  return all
}

// pattern reads a template of a path. One segment is what stands for a
// parameter, unless the description says that slashes belong to it.
function pattern(template, parameters) {
  let literal = 0
  const parts = template.split(/(\{[^}]+\})/).map(part => {
    if (!part.startsWith('{')) {
      literal += part.length
      return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    }
    const name = part.slice(1, -1)
    const wide = parameters.find(p => p.in === 'path' && p.name === name)?.['x-multi-segment']
    return `(?<${name.replaceAll('-', '_')}>${wide ? '.+' : '[^/]+'})`
  })
  return { literal, expression: new RegExp(`^${parts.join('')}$`) }
}
