// Puts models into the proxy of LiteLLM in place of keeping entries: each that is served somewhere is a model of the proxy, whose ID there is
// the key of the registration. For one team of one cluster: it does not look at owners.

export class LiteLLM {
  #url
  #key

  // url is the proxy's address, and key one of its keys that may add and delete models.
  constructor({ url, key }) {
    this.#url = url.replace(/\/+$/, '')
    this.#key = key
  }

  async handle({ type, data }) {
    switch (type) {
      case 'com.example.ai.model.upsert': {
        const gone = await this.#delete(data.key) // what is there has another address, or another name
        const serving = data.servings?.find((s) => s.ready && s.url)
        return gone.status === 200 && serving ? this.#add(data, serving) : gone
      }
      case 'com.example.ai.model.delete':
      case 'com.example.ai.model.archive':
        return this.#delete(data.key)
      case 'com.example.ai.registry.check':
        return answer(await this.#call('GET', '/v1/models'))
      default:
        return { status: 200, body: {} } // a release leaves the model
    }
  }

  async #add({ key, name, version }, serving) {
    return answer(await this.#call('POST', '/model/new', {
      model_name: name,
      // LiteLLM asks {api_base}/chat/completions for the model that the server calls like that.
      litellm_params: { model: `openai/${name}`, api_base: new URL('/v1', serving.url).href, api_key: 'none' },
      model_info: { id: key, version }
    }), { id: key, version })
  }

  async #delete(id) {
    const said = await this.#call('POST', '/model/delete', { id })
    // It says so with 400, as it does to other mistakes.
    const absent = said.status === 400 && said.text.includes(`Model with id=${id} not found`)
    return absent ? { status: 200, body: {} } : answer(said)
  }

  async #call(method, path, body) {
    const said = await fetch(this.#url + path, {
      method, body: body && JSON.stringify(body), signal: AbortSignal.timeout(8000),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#key}` }
    }).catch(() => null)
    return said ? { status: said.status, text: await said.text() } : { status: 0, text: '' }
  }
}

// answer is what the operator is told of what LiteLLM said: whether to try again, and never its text, which may quote the key.
function answer({ status }, body = {}) {
  if (status >= 200 && status < 300) return { status: 200, body }
  if (status === 401 || status === 403) return { status: 403, body: { message: 'LiteLLM refuses the key of the receiver' } }
  return { status: 503, body: { message: status ? `LiteLLM answered ${status}` : 'LiteLLM does not answer' } }
}
