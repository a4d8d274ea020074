import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { Entries } from './entries.js'
import { receiver } from './receiver.js'

const secret = 'whsec_' + Buffer.from('a key of the test, long enough').toString('base64')
const other = 'whsec_' + Buffer.from('the key of somebody else').toString('base64')
const owner = { cluster: 'c1', namespace: 'team-a', name: 'llama', uid: 'u1' }

// start gives a receiver, and a function that sends it events.
async function start(t, options = {}) {
  const entries = new Entries()
  const server = receiver({ entries, secret, ...options })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => { server.closeAllConnections(); server.close() })
  const url = `http://127.0.0.1:${server.address().port}/events`
  let sent = 0
  const send = async (type, data = {}, { id = `evt_${++sent}`, key = secret, headers = {}, at = new Date(), time = new Date() } = {}) => {
    const body = JSON.stringify({
      specversion: '1.0', id, type, source: '/clusters/c1', time: time.toISOString(), datacontenttype: 'application/json',
      data: { key: 'k1', owner, name: 'llama', version: '1', ...data }
    })
    const response = await fetch(url, {
      method: 'POST', body,
      headers: {
        'content-type': 'application/cloudevents+json', 'webhook-id': id, 'webhook-timestamp': String(Math.floor(at / 1000)),
        'webhook-signature': new Webhook(key).sign(id, at, body), ...headers
      }
    })
    return { status: response.status, body: await response.json() }
  }
  return { entries, send, url }
}

const [upsert, remove, archive, release] = ['upsert', 'delete', 'archive', 'release'].map((what) => `com.example.ai.model.${what}`)

test('an upsert makes one entry, however often it comes', async (t) => {
  const { entries, send } = await start(t)
  assert.deepEqual((await send(upsert, {}, { id: 'evt_x' })).body, { id: '1', version: '1', adopted: false })
  const before = JSON.stringify(entries.list())
  assert.equal((await send(upsert, {}, { id: 'evt_x' })).status, 200)
  assert.equal(JSON.stringify(entries.list()), before)
})

test('what is not signed with the key is refused', async (t) => {
  const { entries, send } = await start(t, { token: 'letmein' })
  const authorization = { authorization: 'Bearer letmein' }
  const hourAgo = new Date(Date.now() - 3600e3)
  assert.equal((await send(upsert, {}, { headers: authorization, key: other })).status, 401)
  assert.equal((await send(upsert, {}, { headers: authorization, at: hourAgo })).status, 401)
  assert.equal((await send(upsert, {}, { headers: { ...authorization, 'webhook-id': 'evt_y' } })).status, 401)
  assert.equal((await send(upsert)).status, 401)
  assert.equal((await send(upsert, {}, { headers: { authorization: 'Bearer nothing' } })).status, 401)
  assert.equal(entries.list().length, 0)
  assert.equal((await send(upsert, {}, { headers: authorization })).status, 200)
})

test('what is no event of a model is refused, and what is unknown is taken', async (t) => {
  const { entries, send, url } = await start(t)
  assert.equal((await send(upsert, { key: undefined })).status, 422)
  assert.equal((await send('', {})).status, 400)
  assert.equal((await send('com.example.ai.registry.check')).status, 200)
  assert.equal((await fetch(url)).status, 404)
  assert.equal((await fetch(url.replace('/events', '/entries'))).status, 404)
  assert.equal(entries.list().length, 0)
})

test('an entry of another owner is a conflict, unless it shall be taken', async (t) => {
  const { entries, send } = await start(t)
  await send(upsert)
  const stranger = { key: 'k2', owner: { ...owner, cluster: 'c2', uid: 'u2' } }
  assert.equal((await send(upsert, stranger)).body.reason, 'Conflict')
  assert.equal((await send(remove, stranger)).status, 404)
  assert.equal(entries.list()[0].owner.cluster, 'c1')
  assert.equal((await send(upsert, { ...stranger, adoptionPolicy: 'Always' })).body.adopted, true)
  assert.equal((await send(remove)).status, 404)
  assert.equal(entries.list().length, 1)
})

test("an entry that is nobody's is adopted when asked, and survives", async (t) => {
  const { entries, send } = await start(t)
  entries.add('llama', '1', { theirs: 'kept' })
  assert.equal((await send(upsert)).body.reason, 'AdoptionRequired')
  assert.equal((await send(upsert, { adoptionPolicy: 'IfUnowned', tags: { ours: 'x' } })).body.adopted, true)
  assert.deepEqual(entries.list()[0].tags, { theirs: 'kept', ours: 'x' })
  assert.equal((await send(remove)).status, 200)
  assert.deepEqual(entries.list()[0].tags, { theirs: 'kept' })
  assert.equal(entries.list()[0].owner, null)
})

test('another object of the same name takes its entry back, and is told of when the first is deleted', async (t) => {
  const { entries, send } = await start(t)
  await send(upsert)
  await send(archive)
  assert.equal(entries.list()[0].state, 'archived')
  assert.equal((await send(upsert, { owner: { ...owner, uid: 'u2' } })).status, 200)
  assert.equal(entries.list()[0].state, 'live')
  assert.deepEqual((({ status, body: { reason, uid } }) => ({ status, reason, uid }))(await send(remove)), { status: 409, reason: 'OtherIncarnation', uid: 'u2' })
  assert.equal(entries.list().length, 1)
})

test('an upsert that arrives after the end of its registration revives nothing', async (t) => {
  const { entries, send } = await start(t)
  const late = new Date(Date.now() - 5000)
  await send(upsert)
  assert.equal((await send(remove)).status, 200)
  assert.equal((await send(remove)).status, 404)
  assert.equal((await send(upsert, {}, { time: late })).status, 409)
  assert.equal(entries.list().length, 0)
})

test('a released entry stays, without an owner', async (t) => {
  const { entries, send } = await start(t)
  await send(upsert, { tags: { ours: 'x' } })
  assert.equal((await send(release)).status, 200)
  assert.deepEqual(entries.list().map(({ owner, tags }) => ({ owner, tags })), [{ owner: null, tags: {} }])
})
