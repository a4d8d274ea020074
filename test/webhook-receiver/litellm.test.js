import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { LiteLLM } from './litellm.js'

const key = 'sk-of-the-test'
const [upsert, remove, archive, release] = ['upsert', 'delete', 'archive', 'release'].map((what) => `com.example.ai.model.${what}`)

// start gives the receiver's side, and a stand-in for the proxy, which answers as version 1.99.4 was seen to.
async function start(t, options = {}) {
  const models = new Map()
  const server = createServer(async (request, response) => {
    const send = (status, body) => { response.writeHead(status, { 'content-type': 'application/json' }); response.end(JSON.stringify(body)) }
    let raw = ''
    for await (const chunk of request) raw += chunk
    const body = raw && JSON.parse(raw)
    const refused = (status, message) => send(status, { error: { message: `{'error': '${message}'}`, type: 'auth_error', param: 'None', code: String(status) } })
    if (request.headers.authorization !== `Bearer ${key}`) return refused(401, `Invalid proxy server token passed: ${request.headers.authorization}`)
    if (options.broken) return refused(options.broken, 'No DB Connected')
    if (request.url === '/model/new') {
      if (models.has(body.model_info.id)) return refused(500, 'Failed to add model to db. Check your server logs for more details.')
      models.set(body.model_info.id, body)
    } else if (request.url === '/model/delete' && !models.delete(body.id)) {
      return refused(400, `Model with id=${body.id} not found in db`)
    }
    send(200, {})
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => { server.closeAllConnections(); server.close() })
  const url = `http://127.0.0.1:${server.address().port}`
  const gateway = new LiteLLM({ url, key: options.key ?? key })
  const send = (type, data = {}) => gateway.handle({ type, data: { key: 'k1', name: 'llama', version: '1.0', ...data } })
  return { models, send, url }
}

const at = (url, ready = true) => ({ servings: [{ kind: 'InferenceService', namespace: 'team-a', name: 'llama', url, ready }] })

test('a model is in the gateway while it is served', async (t) => {
  const { models, send } = await start(t)
  assert.equal((await send(upsert)).status, 200)
  assert.equal(models.size, 0)
  for (const [url, base] of [['http://a.team-a.svc:80', 'http://a.team-a.svc/v1'], ['http://b.team-a.svc/v1/completions', 'http://b.team-a.svc/v1']]) {
    assert.deepEqual(await send(upsert, at(url)), { status: 200, body: { id: 'k1', version: '1.0' } })
    assert.deepEqual([...models.values()], [{
      model_name: 'llama', litellm_params: { model: 'openai/llama', api_base: base, api_key: 'none' }, model_info: { id: 'k1', version: '1.0' }
    }])
  }
  assert.equal((await send(upsert, at('http://a.team-a.svc', false))).status, 200)
  assert.equal(models.size, 0)
})

test('it goes with its registration, and stays when that is only let go', async (t) => {
  const { models, send } = await start(t)
  await send(upsert, at('http://a'))
  assert.equal((await send(release)).status, 200)
  assert.equal(models.size, 1)
  for (const end of [remove, archive]) {
    await send(upsert, at('http://a'))
    for (let times = 0; times < 2; times++) assert.equal((await send(end)).status, 200) // an event may come more than once
    assert.equal(models.size, 0)
  }
})

test('what the gateway did not do is not said to be done', async (t) => {
  for (const broken of [400, 500, 503]) {
    const { send } = await start(t, { broken })
    for (const type of [upsert, remove, archive, 'com.example.ai.registry.check']) assert.equal((await send(type, at('http://a'))).status, 503)
  }
  const { send } = await start(t, { key: 'sk-a-wrong-one' })
  for (const type of [upsert, remove, 'com.example.ai.registry.check']) {
    const said = await send(type, at('http://a'))
    assert.equal(said.status, 403)
    assert.ok(!JSON.stringify(said).includes('sk-'))
  }
  const gone = new LiteLLM({ url: 'http://127.0.0.1:1', key })
  assert.deepEqual(await gone.handle({ type: remove, data: { key: 'k1' } }), { status: 503, body: { message: 'LiteLLM does not answer' } })
})
