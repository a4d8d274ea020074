// What the receiver knows of models, and who may change it. The rules are those of docs/registries/webhook.md. Entries are kept
// in memory: put a database, a gateway's API or a cloud's registry in the place of the two maps.

const answer = (status, body = {}) => ({ status, body })
const sameOwner = (a, b) => a.cluster === b.cluster && a.namespace === b.namespace && a.name === b.name

export class Entries {
  #entries = new Map() // by name and version
  #ended = new Map() // by key: when its registration ended
  #lastID = 0

  list() {
    return [...this.#entries.values()].sort((a, b) => a.id - b.id)
  }

  // add makes an entry that is nobody's, as a person would.
  add(name, version, tags = {}) {
    const entry = { id: ++this.#lastID, name, version, owner: null, origin: null, state: 'live', tags: { ...tags }, managed: [], servings: [], changes: 1 }
    this.#entries.set(`${name}/${version}`, entry)
    return entry
  }

  // handle does what an event asks for, and says what to answer. It may be called again with the same event.
  handle(event) {
    switch (event.type) {
      case 'com.example.ai.model.upsert':
        return this.#upsert(event)
      case 'com.example.ai.model.delete':
        return this.#end(event, (entry) => {
          if (entry.origin === 'adopted') this.#release(entry)
          else this.#entries.delete(`${entry.name}/${entry.version}`)
        })
      case 'com.example.ai.model.archive':
        return this.#end(event, (entry) => { entry.state = 'archived'; entry.lastEvent = event.id })
      case 'com.example.ai.model.release':
        return this.#end(event, (entry) => this.#release(entry))
      default:
        return answer(200) // a check, or something that a later version of the operator says
    }
  }

  #upsert({ id, time, data }) {
    if (Date.parse(time) < this.#ended.get(data.key)) {
      return answer(409, { reason: 'Conflict', message: 'the registration ended after this was sent' })
    }
    let entry = this.#entries.get(`${data.name}/${data.version}`)
    if (!entry) {
      entry = this.add(data.name, data.version)
      entry.origin = 'created'
    } else if (!entry.owner || !sameOwner(entry.owner, data.owner)) {
      const { owner } = entry
      if (owner && data.adoptionPolicy !== 'Always') {
        return answer(409, { reason: 'Conflict', message: `it belongs to ${owner.namespace}/${owner.name} of cluster ${owner.cluster}` })
      }
      if (!owner && !['IfUnowned', 'Always'].includes(data.adoptionPolicy)) {
        return answer(409, { reason: 'AdoptionRequired', message: 'it exists and has no owner' })
      }
      entry.origin = 'adopted'
    } else if (entry.lastEvent === id) {
      return this.#registered(entry) // a repetition: nothing is written
    }
    const { key, owner, tags = {}, source, format, description, servings = [] } = data
    for (const name of entry.managed) delete entry.tags[name]
    Object.assign(entry.tags, tags)
    Object.assign(entry, { key, owner, servings })
    if (entry.origin === 'created') Object.assign(entry, { source, format, description }) // what was adopted describes itself
    Object.assign(entry, { managed: Object.keys(tags), state: 'live', lastEvent: id, changes: entry.changes + 1 })
    return this.#registered(entry)
  }

  #registered({ id, version, origin }) {
    return answer(200, { id: String(id), version, adopted: origin === 'adopted' })
  }

  // end is a delete, an archive or a release. What is not the sender's is not there for the sender.
  #end({ id, time, data }, change) {
    const entry = this.#entries.get(`${data.name}/${data.version}`)
    if (!entry?.owner || !sameOwner(entry.owner, data.owner) || entry.key !== data.key) return answer(404, { message: 'there is no such entry' })
    if (entry.owner.uid !== data.owner.uid) {
      return answer(409, { reason: 'OtherIncarnation', uid: entry.owner.uid, message: 'it is registered for another object of that name' })
    }
    if (entry.lastEvent === id) return answer(200) // an archive, repeated
    entry.changes++
    change(entry)
    this.#ended.set(data.key, Date.parse(time))
    return answer(200)
  }

  #release(entry) {
    for (const name of entry.managed) delete entry.tags[name]
    Object.assign(entry, { key: undefined, owner: null, origin: null, managed: [], servings: [], lastEvent: undefined })
  }
}
