// Judges webhook payloads by GitHub's description of them.
import { Schemas, load } from './schemas.js'

export class Webhooks {
  #description = load('@octokit/openapi-webhooks/generated/api.github.com.json')
  #schemas = new Schemas(this.#description)

  get version() { return this.#description.info.version }

  // faults lists what is wrong with a payload; null where the event is not
  // described.
  faults(event, payload) {
    const name = [event, payload.action].filter(Boolean).join('-').replaceAll('_', '-')
    const hook = this.#description.webhooks[name]
    if (!hook) return null
    return this.#schemas.faults(hook.post.requestBody.content['application/json'].schema, payload)
  }
}
