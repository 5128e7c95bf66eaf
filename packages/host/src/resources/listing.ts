import type { Host, LibraryEntry } from '../types/index.ts'
import { commandOf } from './command.ts'

export type Lists = Pick<Host, 'resources' | 'templates' | 'prompts' | 'on'>

/** What all servers offer, put together once and again whenever that may have changed. */
export class Listing {
  readonly #lists: Lists
  #entries: readonly LibraryEntry[] | undefined
  #listens = false

  constructor(lists: Lists) {
    this.#lists = lists
  }

  /** The same array as long as nothing changed. */
  get entries(): readonly LibraryEntry[] {
    this.#listen()
    this.#entries ??= [
      ...this.#lists.resources().map((entry) => ({ kind: 'resource' as const, ...entry })),
      ...this.#lists.templates().map((entry) => ({ kind: 'template' as const, ...entry })),
      ...this.#lists.prompts().map((entry) => ({
        kind: 'prompt' as const,
        ...entry,
        command: commandOf(entry),
      })),
    ]
    return this.#entries
  }

  of<K extends LibraryEntry['kind']>(kind: K): Extract<LibraryEntry, { kind: K }>[] {
    const is = (entry: LibraryEntry): entry is Extract<LibraryEntry, { kind: K }> => entry.kind === kind
    return this.entries.filter(is)
  }

  #listen(): void {
    if (this.#listens) return
    this.#listens = true
    this.#lists.on(({ type }) => {
      if (type === 'catalog' || type === 'connection' || type === 'trust') this.#entries = undefined
    })
  }
}
