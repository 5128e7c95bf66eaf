import type { DatabaseSync } from 'node:sqlite'
import { ToolError } from '@jackfield/sdk'
import { inTransaction } from '@jackfield/sdk/internal'
import { integer, openDatabase, type Row, Statements, text } from './database.ts'
import { SearchIndex } from './search-index.ts'
import {
  type Entity,
  type EntityChange,
  type Excerpt,
  type GraphKey,
  limits,
  type Relation,
} from './types.ts'

/**
 * The graphs in one SQLite file. Every method that writes is one transaction: if it throws, nothing is changed. Messages of a
 * `ToolError` are for the model.
 */
export class MemoryStore {
  readonly #database: DatabaseSync
  readonly #statements: Statements
  readonly #now: () => number
  readonly #index: SearchIndex
  /** Whether a write transaction is open. */
  #isWriting = false
  /** The id of the last change that `changes` returned. */
  #lastSeenChange: number

  /**
   * @param file a path, or `:memory:`
   * @throws Error if the file cannot be opened as a memory database
   */
  constructor(file: string, now: () => number = Date.now) {
    this.#database = openDatabase(file)
    this.#statements = new Statements(this.#database)
    this.#now = now
    this.#index = new SearchIndex(this.#statements)
    this.#lastSeenChange = this.#lastChange()
    this.#removeAbandoned()
  }

  close(): void {
    this.#database.close()
  }

  /** Creates entities. Existing ones are not changed. */
  createEntities(key: GraphKey, entities: readonly Entity[]): { created: Entity[]; existing: string[] } {
    return this.#write(() => {
      const graph = this.#graphForWriting(key)
      const created: Entity[] = []
      const existing: string[] = []
      for (const { name, entityType, observations } of entities) {
        if (this.#entityId(graph, name) !== undefined) {
          if (!created.some((one) => one.name === name)) existing.push(name)
          continue
        }
        const entity = { name, entityType, observations: [...new Set(observations)] }
        requireEntitySize(entity)
        const id = this.#insertEntity(graph, entity)
        this.#index.update(graph, id, entity)
        this.#log(key, name, true)
        created.push(entity)
      }
      this.#requireCount('entities', graph, limits.entitiesPerGraph)
      return { created, existing }
    })
  }

  /** Creates relations. `existing`: the number of those that existed already. */
  createRelations(key: GraphKey, relations: readonly Relation[]): { created: Relation[]; existing: number } {
    return this.#write(() => {
      const graph = this.#graphForWriting(key)
      const ids = this.#requireEntities(
        graph,
        relations.flatMap(({ from, to }) => [from, to]),
        'Create them first with create_entities; no relation was stored.',
      )
      const insert = this.#statements.prepare(
        'INSERT INTO relations (graph, source, target, type) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      )
      const created = relations.filter(({ from, to, relationType }) => {
        const { changes } = insert.run(graph, ids.get(from) ?? 0, ids.get(to) ?? 0, relationType)
        return Number(changes) > 0
      })
      this.#touch(key, graph, new Set(created.flatMap(({ from, to }) => [from, to])))
      this.#requireCount('relations', graph, limits.relationsPerGraph)
      return { created, existing: relations.length - created.length }
    })
  }

  /** Adds observations to entities that exist, and returns those that are new. */
  addObservations(
    key: GraphKey,
    additions: readonly { entityName: string; contents: readonly string[] }[],
  ): { entityName: string; addedObservations: string[] }[] {
    return this.#write(() => {
      const graph = this.#graphForWriting(key)
      const ids = this.#requireEntities(
        graph,
        additions.map(({ entityName }) => entityName),
        'Create them with create_entities; no observation was stored.',
      )
      const results = additions.map(({ entityName, contents }) => {
        const id = ids.get(entityName) ?? 0
        return {
          entityName,
          addedObservations: contents.filter((content) => this.#addObservation(id, content)),
        }
      })
      this.#reindex(key, graph, ids, new Set(changedNames(results, 'addedObservations')))
      return results
    })
  }

  /**
   * Adds entities and relations. Existing entities get the new observations. If a relation names an entity that does not exist,
   * it is created with the type `unknown`.
   */
  merge(
    key: GraphKey,
    entities: readonly Entity[],
    relations: readonly Relation[],
  ): { entities: number; observations: number; relations: number; unknown: string[] } {
    return this.#write(() => {
      const before = this.#sizes(this.#graphId(key))
      this.createEntities(key, entities)
      this.addObservations(
        key,
        entities.map(({ name, observations }) => ({ entityName: name, contents: observations })),
      )
      const graph = this.#graphForWriting(key)
      const ends = new Set(relations.flatMap(({ from, to }) => [from, to]))
      const unknown = [...ends].filter((name) => this.#entityId(graph, name) === undefined)
      this.createEntities(
        key,
        unknown.map((name) => ({ name, entityType: 'unknown', observations: [] })),
      )
      this.createRelations(key, relations)
      const after = this.#sizes(graph)
      return {
        entities: after.entities - before.entities,
        observations: after.observations - before.observations,
        relations: after.relations - before.relations,
        unknown,
      }
    })
  }

  /** Deletes entities with their observations and relations. */
  deleteEntities(
    key: GraphKey,
    names: readonly string[],
  ): { deleted: string[]; relations: number; missing: string[] } {
    return this.#write(() => {
      const graph = this.#graphId(key)
      const before = this.#count('relations', graph)
      const wanted = [...new Set(names)]
      const remove = this.#statements.prepare('DELETE FROM entities WHERE graph = ? AND name = ?')
      const neighbors = new Set<string>()
      const deleted = wanted.filter((name) => {
        for (const { from, to } of this.#relationsOf(graph, [name]).relations) neighbors.add(from).add(to)
        return graph !== undefined && Number(remove.run(graph, name).changes) > 0
      })
      for (const name of deleted) {
        neighbors.delete(name)
        this.#log(key, name, true)
      }
      if (graph !== undefined) this.#touch(key, graph, neighbors)
      const missing = wanted.filter((name) => !deleted.includes(name))
      return { deleted, relations: before - this.#count('relations', graph), missing }
    })
  }

  /** Deletes observations, and returns the number of deleted ones and the entities that do not exist. */
  deleteObservations(
    key: GraphKey,
    deletions: readonly { entityName: string; observations: readonly string[] }[],
  ): { deleted: number; missing: string[] } {
    return this.#write(() => {
      const graph = this.#graphId(key)
      const ids = this.#entityIds(
        graph,
        deletions.map(({ entityName }) => entityName),
      )
      const remove = this.#statements.prepare('DELETE FROM observations WHERE entity = ? AND text = ?')
      const results = deletions.map(({ entityName, observations }) => ({
        entityName,
        removed: observations.filter(
          (observation) => Number(remove.run(ids.get(entityName) ?? 0, observation).changes) > 0,
        ),
      }))
      if (graph !== undefined) this.#reindex(key, graph, ids, new Set(changedNames(results, 'removed')))
      return {
        deleted: results.reduce((sum, { removed }) => sum + removed.length, 0),
        missing: [...new Set(deletions.map(({ entityName }) => entityName))].filter((name) => !ids.has(name)),
      }
    })
  }

  /** Deletes relations, and returns the number of deleted ones. */
  deleteRelations(key: GraphKey, relations: readonly Relation[]): { deleted: number } {
    return this.#write(() => {
      const graph = this.#graphId(key)
      if (graph === undefined) return { deleted: 0 }
      const ids = this.#entityIds(
        graph,
        relations.flatMap(({ from, to }) => [from, to]),
      )
      const remove = this.#statements.prepare(
        'DELETE FROM relations WHERE source = ? AND target = ? AND type = ?',
      )
      const deleted = relations.filter(
        ({ from, to, relationType }) =>
          Number(remove.run(ids.get(from) ?? 0, ids.get(to) ?? 0, relationType).changes) > 0,
      )
      this.#touch(key, graph, new Set(deleted.flatMap(({ from, to }) => [from, to])))
      return { deleted: deleted.length }
    })
  }

  /**
   * One page of a graph in the order of creation, with every relation that starts at one of its entities.
   * @param after the `next` of the page before; 0 for the first
   */
  page(key: GraphKey, after: number, max: number): Excerpt & { next: number | undefined; total: number } {
    return this.#read(() => {
      const graph = this.#graphId(key)
      const rows = this.#statements
        .prepare('SELECT id, name, type FROM entities WHERE graph = ? AND id > ? ORDER BY id LIMIT ?')
        .all(graph ?? 0, after, max + 1)
      const { entities, ids } = this.#load(rows, max)
      const last = ids.at(-1)
      return {
        entities,
        ...this.#relationsFrom(ids),
        next: ids.length < rows.length ? last : undefined,
        total: this.#count('entities', graph),
      }
    })
  }

  /** The entities with these names in the given order, and their relations. */
  open(key: GraphKey, names: readonly string[]): Excerpt & { missing: string[]; omitted: string[] } {
    return this.#read(() => {
      const graph = this.#graphId(key)
      const wanted = [...new Set(names)]
      const rows = wanted.map((name) => this.#entityRow(graph, name)).filter((row) => row !== undefined)
      const { entities } = this.#load(rows, limits.entitiesPerPage)
      const found = rows.map((row) => text(row, 'name'))
      const loaded = entities.map(({ name }) => name)
      return {
        entities,
        ...this.#relationsOf(graph, loaded),
        missing: wanted.filter((name) => !found.includes(name)),
        omitted: found.slice(loaded.length),
      }
    })
  }

  /**
   * Entities that contain words of the query, or words that begin with them, the best first: rare words and words of names
   * count more. If there are none, entities that contain the query as a part of their text.
   */
  search(key: GraphKey, query: string, max: number): Excerpt & { total: number } {
    return this.#read(() => {
      const graph = this.#graphId(key)
      const ranked = this.#index.rank(graph, query, this.#count('entities', graph))
      const ids = ranked.length > 0 ? ranked : this.#index.containing(graph, query)
      const byId = this.#statements.prepare('SELECT id, name, type FROM entities WHERE id = ?')
      const rows = ids
        .slice(0, max)
        .map((id) => byId.get(id))
        .filter((row) => row !== undefined)
      const { entities } = this.#load(rows, max)
      const relations = this.#relationsOf(
        graph,
        entities.map(({ name }) => name),
      )
      return { entities, ...relations, total: ids.length }
    })
  }

  /** Every entity, in the order of creation. */
  *allEntities(key: GraphKey): Generator<Entity> {
    const rows = this.#statements
      .prepare('SELECT id, name, type FROM entities WHERE graph = ? ORDER BY id')
      .iterate(this.#graphId(key) ?? 0)
    for (const row of rows) yield this.#entityOf(row)
  }

  /** Every relation, in the order of creation. */
  *allRelations(key: GraphKey): Generator<Relation> {
    const rows = this.#statements
      .prepare(`${selectRelations} WHERE r.graph = ? ORDER BY r.id`)
      .iterate(this.#graphId(key) ?? 0)
    for (const row of rows) yield relationOf(row)
  }

  /** Names that contain a text, those that begin with it first. */
  names(key: GraphKey, part: string, max: number): string[] {
    const like = `%${escapeLike(part)}%`
    return this.#statements
      .prepare(
        `SELECT name FROM entities WHERE graph = ? AND name LIKE ? ESCAPE '\\'
         ORDER BY name LIKE ? ESCAPE '\\' DESC, name LIMIT ?`,
      )
      .all(this.#graphId(key) ?? 0, like, like.slice(1), max)
      .map((row) => text(row, 'name'))
  }

  /** The most recently changed entities. */
  recent(key: GraphKey, max: number): { name: string; entityType: string; changedAt: number }[] {
    return this.#statements
      .prepare(
        'SELECT name, type, changed_at FROM entities WHERE graph = ? ORDER BY changed_at DESC, id DESC LIMIT ?',
      )
      .all(this.#graphId(key) ?? 0, max)
      .map((row) => ({
        name: text(row, 'name'),
        entityType: text(row, 'type'),
        changedAt: integer(row, 'changed_at'),
      }))
  }

  /** How many of these entities exist. */
  countExisting(key: GraphKey, names: readonly string[]): number {
    return this.#entityIds(this.#graphId(key), names).size
  }

  /** Deletes a graph. */
  deleteGraph({ owner, conversation }: GraphKey): void {
    this.#write(() => {
      this.#statements
        .prepare('DELETE FROM graphs WHERE owner = ? AND conversation = ?')
        .run(owner, conversation)
    })
  }

  /**
   * The changes since the last call, of this and of other processes; `lost` if there were more than the log contains.
   */
  changes(): { changes: EntityChange[]; lost: boolean } {
    const rows = this.#statements
      .prepare('SELECT * FROM changes WHERE id > ? ORDER BY id')
      .all(this.#lastSeenChange)
    const first = integer(rows[0], 'id')
    const lost = rows.length > 0 && first > this.#lastSeenChange + 1
    this.#lastSeenChange = rows.length > 0 ? integer(rows.at(-1), 'id') : this.#lastSeenChange
    const changes = rows.map((row) => ({
      key: { owner: text(row, 'owner'), conversation: text(row, 'conversation') },
      name: text(row, 'name'),
      listed: integer(row, 'listed') === 1,
    }))
    return { changes, lost }
  }

  /** Ignores all changes until now. Called when the first client subscribes. */
  skipChanges(): void {
    this.#lastSeenChange = this.#lastChange()
  }

  /**
   * Runs writes as one transaction.
   * @throws ToolError if another process holds the file for longer than 5 s
   */
  #write<T>(work: () => T): T {
    if (this.#isWriting) return work()
    this.#isWriting = true
    try {
      return inTransaction(this.#database, work)
    } catch (error) {
      const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
      if (code === sqliteCodes.busy || code === sqliteCodes.locked) {
        throw new ToolError('Another process is writing to the memory file. Nothing was changed; try again.')
      }
      if (code === sqliteCodes.full) {
        throw new ToolError(
          `Nothing was stored: the memory file has reached ${limits.fileBytes / 1_048_576} MiB, or the disk is full. Delete entities that are no longer needed.`,
        )
      }
      throw error
    } finally {
      this.#isWriting = false
    }
  }

  /** Runs several reads in one transaction, so that they see the same data. */
  #read<T>(work: () => T): T {
    this.#database.exec('BEGIN')
    try {
      return work()
    } finally {
      this.#database.exec('COMMIT')
    }
  }

  #graphId({ owner, conversation }: GraphKey): number | undefined {
    const row = this.#statements
      .prepare('SELECT id FROM graphs WHERE owner = ? AND conversation = ?')
      .get(owner, conversation)
    return row === undefined ? undefined : integer(row, 'id')
  }

  #graphForWriting(key: GraphKey): number {
    const found = this.#graphId(key)
    const { owner, conversation } = key
    const kind = conversation.slice(0, 2)
    if (found !== undefined) {
      this.#statements.prepare('UPDATE graphs SET used_at = ? WHERE id = ?').run(this.#now(), found)
      return found
    }
    const row = this.#statements
      .prepare('SELECT count(*) AS n FROM graphs WHERE owner = ? AND substr(conversation, 1, 2) = ?')
      .get(owner, kind)
    if (integer(row, 'n') >= limits.graphsPerOwner) {
      throw new ToolError(
        `There is memory for ${limits.graphsPerOwner} conversations already. Use an existing conversation, or delete the entities of one.`,
      )
    }
    const { lastInsertRowid } = this.#statements
      .prepare('INSERT INTO graphs (owner, conversation, used_at) VALUES (?, ?, ?)')
      .run(owner, conversation, this.#now())
    return Number(lastInsertRowid)
  }

  #entityRow(graph: number | undefined, name: string): Row | undefined {
    return this.#statements
      .prepare('SELECT id, name, type FROM entities WHERE graph = ? AND name = ?')
      .get(graph ?? 0, name)
  }

  #entityId(graph: number | undefined, name: string): number | undefined {
    const row = this.#entityRow(graph, name)
    return row === undefined ? undefined : integer(row, 'id')
  }

  #entityIds(graph: number | undefined, names: readonly string[]): Map<string, number> {
    const found = new Map<string, number>()
    for (const name of names) {
      const id = found.get(name) ?? this.#entityId(graph, name)
      if (id !== undefined) found.set(name, id)
    }
    return found
  }

  #requireEntities(graph: number, names: readonly string[], advice: string): Map<string, number> {
    const ids = this.#entityIds(graph, names)
    const missing = [...new Set(names)].filter((name) => !ids.has(name))
    if (missing.length === 0) return ids
    throw new ToolError(`No entity has the name ${quoted(missing)}. ${advice}`)
  }

  #insertEntity(graph: number, { name, entityType, observations }: Entity): number {
    const { lastInsertRowid } = this.#statements
      .prepare('INSERT INTO entities (graph, name, type, changed_at) VALUES (?, ?, ?, ?)')
      .run(graph, name, entityType, this.#now())
    const id = Number(lastInsertRowid)
    for (const observation of observations) this.#addObservation(id, observation)
    return id
  }

  /** Stores an observation, and returns whether it is new. */
  #addObservation(entity: number, observation: string): boolean {
    const { changes } = this.#statements
      .prepare('INSERT INTO observations (entity, text) VALUES (?, ?) ON CONFLICT DO NOTHING')
      .run(entity, observation)
    return Number(changes) > 0
  }

  /** The entity of a row with its id, name and type. */
  #entityOf(row: Row): Entity {
    const observations = this.#statements
      .prepare('SELECT text FROM observations WHERE entity = ? ORDER BY id')
      .all(integer(row, 'id'))
      .map((one) => text(one, 'text'))
    return { name: text(row, 'name'), entityType: text(row, 'type'), observations }
  }

  /** Updates the index and the log for entities whose observations changed. */
  #reindex(key: GraphKey, graph: number, ids: ReadonlyMap<string, number>, names: ReadonlySet<string>): void {
    for (const name of names) {
      const row = this.#entityRow(graph, name)
      const id = ids.get(name)
      if (row === undefined || id === undefined) continue
      const entity = this.#entityOf(row)
      requireEntitySize(entity)
      this.#index.update(graph, id, entity)
    }
    this.#touch(key, graph, names)
  }

  /** Records that entities changed. */
  #touch(key: GraphKey, graph: number, names: ReadonlySet<string>): void {
    const update = this.#statements.prepare('UPDATE entities SET changed_at = ? WHERE graph = ? AND name = ?')
    for (const name of names) {
      update.run(this.#now(), graph, name)
      this.#log(key, name, false)
    }
  }

  #log({ owner, conversation }: GraphKey, name: string, listed: boolean): void {
    const { lastInsertRowid } = this.#statements
      .prepare('INSERT INTO changes (owner, conversation, name, listed) VALUES (?, ?, ?, ?)')
      .run(owner, conversation, name, listed ? 1 : 0)
    this.#statements
      .prepare('DELETE FROM changes WHERE id <= ?')
      .run(Number(lastInsertRowid) - maxLoggedChanges)
  }

  #lastChange(): number {
    return integer(this.#statements.prepare('SELECT max(id) AS n FROM changes').get(), 'n')
  }

  #count(table: 'entities' | 'relations', graph: number | undefined): number {
    return integer(
      this.#statements.prepare(`SELECT count(*) AS n FROM ${table} WHERE graph = ?`).get(graph ?? 0),
      'n',
    )
  }

  #sizes(graph: number | undefined): { entities: number; observations: number; relations: number } {
    const row = this.#statements
      .prepare(
        'SELECT count(*) AS n FROM observations o JOIN entities e ON e.id = o.entity WHERE e.graph = ?',
      )
      .get(graph ?? 0)
    return {
      entities: this.#count('entities', graph),
      observations: integer(row, 'n'),
      relations: this.#count('relations', graph),
    }
  }

  #requireCount(table: 'entities' | 'relations', graph: number, max: number): void {
    if (this.#count(table, graph) <= max) return
    throw new ToolError(`A graph has at most ${max} ${table}. Nothing was stored; delete some first.`)
  }

  /** Entities with their observations, until the page has `charsPerPage` characters. At least one is loaded. */
  #load(rows: readonly Row[], max: number): { entities: Entity[]; ids: number[] } {
    const entities: Entity[] = []
    const ids: number[] = []
    let chars = 0
    for (const row of rows.slice(0, max)) {
      const entity = this.#entityOf(row)
      chars += charsOf(entity)
      if (chars > limits.charsPerPage && entities.length > 0) break
      entities.push(entity)
      ids.push(integer(row, 'id'))
    }
    return { entities, ids }
  }

  /** The relations that start at these entities. */
  #relationsFrom(ids: readonly number[]): Pick<Excerpt, 'relations' | 'omittedRelations'> {
    return this.#selectRelations(ids.map((id) => [id, 'r.source = ?']))
  }

  /** The relations that start or end at these entities. */
  #relationsOf(
    graph: number | undefined,
    names: readonly string[],
  ): Pick<Excerpt, 'relations' | 'omittedRelations'> {
    const ids = [...this.#entityIds(graph, names).values()]
    return this.#selectRelations([
      ...ids.map((id) => [id, 'r.source = ?'] as const),
      ...ids.map((id) => [id, 'r.target = ?'] as const),
    ])
  }

  #selectRelations(
    conditions: readonly (readonly [id: number, where: 'r.source = ?' | 'r.target = ?'])[],
  ): Pick<Excerpt, 'relations' | 'omittedRelations'> {
    const found = new Map<number, Relation>()
    let omitted = 0
    for (const [id, where] of conditions) {
      const rows = this.#statements.prepare(`${selectRelations} WHERE ${where} ORDER BY r.id`).iterate(id)
      for (const row of rows) {
        const relation = integer(row, 'id')
        if (found.has(relation)) continue
        if (found.size >= limits.relationsPerPage) omitted++
        else found.set(relation, relationOf(row))
      }
    }
    return { relations: [...found.values()], omittedRelations: omitted }
  }

  /** Deletes graphs of sessions that a process could not delete at their end. */
  #removeAbandoned(): void {
    this.#write(() => {
      this.#statements
        .prepare("DELETE FROM graphs WHERE conversation LIKE 's:%' AND used_at < ?")
        .run(this.#now() - maxSessionGraphAgeMs)
    })
  }
}

const selectRelations = `SELECT r.id, s.name AS source, t.name AS target, r.type FROM relations r
  JOIN entities s ON s.id = r.source JOIN entities t ON t.id = r.target`
const maxLoggedChanges = 10_000
const maxSessionGraphAgeMs = 30 * 86_400_000

/** Up to ten names in quotation marks, for a message. */
export function quoted(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((name) => JSON.stringify(name))
  return names.length > shown.length
    ? `${shown.join(', ')} and ${names.length - shown.length} more`
    : shown.join(', ')
}

function changedNames<K extends string>(
  results: readonly ({ entityName: string } & Record<K, readonly string[]>)[],
  member: K,
): string[] {
  return results.filter((result) => result[member].length > 0).map(({ entityName }) => entityName)
}

function relationOf(row: Row): Relation {
  return { from: text(row, 'source'), to: text(row, 'target'), relationType: text(row, 'type') }
}

function charsOf({ name, entityType, observations }: Entity): number {
  return observations.reduce((sum, { length }) => sum + length, name.length + entityType.length)
}

function requireEntitySize(entity: Entity): void {
  const { name, observations } = entity
  if (observations.length > limits.observationsPerEntity) {
    throw new ToolError(
      `${JSON.stringify(name)} would have ${observations.length} observations; an entity has at most ${limits.observationsPerEntity}. Nothing was stored; delete old ones, or use several entities.`,
    )
  }
  if (charsOf(entity) <= limits.entityChars) return
  throw new ToolError(
    `${JSON.stringify(name)} would have ${charsOf(entity)} characters; an entity has at most ${limits.entityChars}. Nothing was stored; summarize its observations, or use several entities.`,
  )
}

function escapeLike(part: string): string {
  return part.replace(/[\\%_]/g, '\\$&')
}

/** Primary result codes of SQLite. */
const sqliteCodes = { busy: 5, locked: 6, full: 13 }
