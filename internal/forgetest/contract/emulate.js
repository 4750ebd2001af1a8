// Starts npm's `emulate`, a GitHub that others wrote, for a test: the first line
// of the standard input is {"port", "baseUrl", "seed"}. It says "ready", and
// ends when its standard input does, so that it cannot outlive the test.
import { webcrypto } from 'node:crypto'
import readline from 'node:readline'
import { createEmulator } from 'emulate'

globalThis.crypto ??= webcrypto // Node 18 has it under this name only

const input = readline.createInterface({ input: process.stdin })
let emulator
input.once('line', async line => {
  const { port, baseUrl, seed } = JSON.parse(line)
  emulator = await createEmulator({ service: 'github', port, baseUrl, seed })
  console.log('ready')
})
input.once('close', async () => {
  await emulator?.close()
  process.exit(0)
})
