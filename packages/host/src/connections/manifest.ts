import { readJson } from '@jackfield/sdk/internal'
import { fingerprint, isRecord } from '../json.ts'
import type { ManifestTable } from '../store/index.ts'
import type { ServerConfig } from '../types/index.ts'
import { noLists, type ServerLists } from './lists.ts'

/** What one server listed when it last ran, kept for when it does not. */
export class KeptLists {
  readonly #table: ManifestTable
  readonly #identity: () => string
  readonly #principal: string
  #last = ''

  constructor(table: ManifestTable, identity: () => string, name: string, config: ServerConfig) {
    this.#table = table
    this.#identity = identity
    this.#principal = principalOf(name, config)
  }

  load(): { lists: ServerLists; atMs: number } | undefined {
    const kept = this.#table.get(this.#identity(), this.#principal)
    if (kept === undefined) return undefined
    try {
      const lists: ServerLists = { ...noLists, ...readJson(kept.lists) }
      return Object.values(lists).every(isListOfRecords) ? { lists, atMs: kept.atMs } : undefined
    } catch {
      return undefined
    }
  }

  /** Lists that were never fetched are left out, so that they are not taken for empty ones. */
  save(lists: ServerLists): void {
    const known = Object.entries(lists).filter(
      ([kind, list]) => list !== Object.entries(noLists).find(([name]) => name === kind)?.[1],
    )
    const text = JSON.stringify(Object.fromEntries(known))
    if (text !== this.#last) this.#table.put(this.#identity(), this.#principal, text)
    this.#last = text
  }

  forget(): void {
    this.#last = ''
    this.#table.forget(this.#identity())
  }
}

function isListOfRecords(list: unknown): boolean {
  return Array.isArray(list) && list.every(isRecord)
}

/** Who the server lists things to: the account, or whatever it is given to know the caller by. */
export function principalOf(name: string, config: ServerConfig): string {
  return 'url' in config
    ? fingerprint({ account: name, headers: config.headers, auth: config.auth })
    : fingerprint({ env: config.env, envFile: config.envFile })
}
