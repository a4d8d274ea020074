import { createServer } from 'node:http'
import { timingSafeEqual } from 'node:crypto'
import { HTTP } from 'cloudevents'
import { Webhook } from 'standardwebhooks'

const maxBody = 1 << 20

class Refused extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

// receiver returns an HTTP server that takes events at POST /events. entries handles them, at once or as a promise. secret is the
// signing key, "whsec_" and base64. token, if there is one, is a bearer token that requests must carry. inspect opens /entries, for
// tests and demonstrations only.
export function receiver({ entries, secret, token, inspect = false }) {
  const webhook = new Webhook(secret)

  return createServer(async (request, response) => {
    const send = (status, body, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(body))
    }
    try {
      const body = await read(request)
      const { pathname } = new URL(request.url, 'http://receiver')
      if (inspect && pathname === '/entries') {
        if (request.method === 'PUT') {
          const { name, version, tags } = JSON.parse(body)
          entries.add(name, version, tags)
        }
        return send(200, entries.list())
      }
      if (request.method !== 'POST' || pathname !== '/events') throw new Refused(404, 'events are received at POST /events')
      const { status, body: reply } = await entries.handle(accept(request, body))
      send(status, reply)
    } catch (error) {
      if (!(error instanceof Refused)) console.error(error)
      send(error.status ?? 500, { message: error instanceof Refused ? error.message : 'the receiver failed' })
    }
  })

  // accept returns the event of a request that comes from whom it says.
  function accept({ headers }, body) {
    if (token && !same(headers.authorization ?? '', `Bearer ${token}`)) throw new Refused(401, 'the bearer token is missing or wrong')
    try {
      webhook.verify(body, headers)
    } catch (error) {
      throw new Refused(401, error.message)
    }
    let event
    try {
      event = HTTP.toEvent({ headers, body })
      event.validate()
    } catch {
      throw new Refused(400, 'this is no CloudEvent')
    }
    // The signature covers the header, and the header must be that of this event.
    if (event.id !== headers['webhook-id']) throw new Refused(400, 'webhook-id is not the id of the event')
    if (event.type.startsWith('com.example.ai.model.') && !(event.data?.key && event.data?.owner)) throw new Refused(422, 'data has no key or owner')
    return event
  }
}

function same(a, b) {
  const [x, y] = [Buffer.from(a), Buffer.from(b)]
  return x.length === y.length && timingSafeEqual(x, y)
}

async function read(request) {
  let body = ''
  request.setEncoding('utf8')
  for await (const chunk of request) {
    body += chunk
    if (body.length > maxBody) throw new Refused(413, 'the body is too long')
  }
  return body
}
