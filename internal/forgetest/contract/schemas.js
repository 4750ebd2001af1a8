// Reads GitHub's descriptions (OpenAPI 3.0 for REST, 3.1 for webhooks) into
// validators of JSON Schema.
import fs from 'node:fs'
import Ajv from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

export function load(path) {
  return JSON.parse(fs.readFileSync(new URL(`./node_modules/${path}`, import.meta.url), 'utf8'))
}

// plain turns OpenAPI's own keywords into JSON Schema: `nullable`, and no
// examples, which are no schemas. Maps from names to schemas are walked as such,
// since a property may be called "example".
function plain(schema) {
  if (Array.isArray(schema)) return schema.map(plain)
  if (schema === null || typeof schema !== 'object') return schema
  const out = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'example' || key === 'examples' || key === 'nullable' || key === 'discriminator') continue
    if (key === 'enum' || key === 'const' || key === 'default' || key === 'required') out[key] = value
    else if (key === 'properties' || key === 'patternProperties') {
      out[key] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))
    } else out[key] = plain(value)
  }
  if (schema.nullable !== true) return out
  if (out.enum && !out.enum.includes(null)) out.enum = [...out.enum, null]
  if (typeof out.type === 'string') return { ...out, type: [out.type, 'null'] }
  return { anyOf: [out, { type: 'null' }] }
}

// Schemas compiles the schemas of one description.
export class Schemas {
  #ajv
  #known = new Map()

  constructor(description, coerce = false) {
    this.#ajv = new Ajv({ strict: false, allErrors: true, logger: false, coerceTypes: coerce, validateSchema: false })
    addFormats(this.#ajv)
    const components = Object.entries(description.components?.schemas ?? {})
    this.#ajv.addSchema({
      $id: 'github:description',
      components: { schemas: Object.fromEntries(components.map(([name, one]) => [name, plain(one)])) }
    })
  }

  // faults lists what of a value does not fit a schema, as "/place: what".
  faults(schema, value) {
    let check = this.#known.get(schema)
    if (!check) {
      check = this.#ajv.compile(absolute(plain(schema)))
      this.#known.set(schema, check)
    }
    if (check(value)) return []
    return check.errors.map(e => {
      const extra = e.params.allowedValues ? ` ${JSON.stringify(e.params.allowedValues)}` : ''
      return `${e.instancePath.replace(/\/\d+(?=\/|$)/g, '/*') || '/'}: ${e.message}${extra}`
    })
  }
}

// absolute makes the references of a schema that stands alone lead into the
// description.
function absolute(schema) {
  if (Array.isArray(schema)) return schema.map(absolute)
  if (schema === null || typeof schema !== 'object') return schema
  return Object.fromEntries(Object.entries(schema).map(([key, value]) =>
    [key, key === '$ref' && typeof value === 'string' && value.startsWith('#') ? `github:description${value}` : absolute(value)]))
}
