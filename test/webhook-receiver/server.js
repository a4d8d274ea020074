// WEBHOOK_SECRET=whsec_... [WEBHOOK_TOKEN=...] [PORT=8787] [HOST=127.0.0.1] [INSPECT=1] [LITELLM_URL=... LITELLM_KEY=...] node server.js
import { Entries } from './entries.js'
import { LiteLLM } from './litellm.js'
import { receiver } from './receiver.js'

const { WEBHOOK_SECRET: secret, WEBHOOK_TOKEN: token, PORT = '8787', HOST = '127.0.0.1', INSPECT, LITELLM_URL, LITELLM_KEY } = process.env
if (!secret) {
  console.error('Set WEBHOOK_SECRET to the signing key, "whsec_" and base64.')
  process.exit(2)
}
const entries = LITELLM_URL ? new LiteLLM({ url: LITELLM_URL, key: LITELLM_KEY ?? '' }) : new Entries()
const server = receiver({ entries, secret, token, inspect: INSPECT === '1' && !LITELLM_URL })
server.listen(Number(PORT), HOST, () => console.log(`Receives events at http://${HOST}:${server.address().port}/events`))
// Whoever started it as a child may end: then standard input does too.
if (process.env.END_WITH_STDIN === '1') process.stdin.on('end', () => process.exit(0)).resume()
