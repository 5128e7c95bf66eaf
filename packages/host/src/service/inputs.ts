import { randomUUID } from 'node:crypto'
import { McpError } from '@jackfield/sdk'
import type { AskInput, ConfigInput } from '../types/index.ts'
import type { InputRow } from './contract.ts'
import type { TopicSource } from './topic.ts'
import type { Change } from './view.ts'

/** Values that configurations need from the user. They are shown to clients and never stored with the questions. */
export class Inputs {
  readonly #open = new Map<string, { row: InputRow; settle: (value: string | undefined) => void }>()
  readonly #listeners = new Set<(changes: readonly Change<InputRow>[]) => void>()
  readonly #canAsk: () => boolean

  /** `canAsk`: whether a client can show one now; otherwise a server that needs a value fails. */
  constructor(canAsk: () => boolean) {
    this.#canAsk = canAsk
  }

  readonly topic: TopicSource<InputRow> = {
    rows: () => [...this.#open].map(([id, { row }]) => [id, row] as const),
    follow: ({ push }) => {
      this.#listeners.add(push)
      return () => this.#listeners.delete(push)
    },
  }

  readonly ask: AskInput = (server: string, input: ConfigInput) => {
    if (!this.#canAsk()) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const id = randomUUID()
      const row = { id, server, input }
      const settle = (value: string | undefined): void => {
        this.#open.delete(id)
        this.#emit([{ remove: id }])
        resolve(value)
      }
      this.#open.set(id, { row, settle })
      this.#emit([{ set: id, row }])
    })
  }

  /** Answers with a value, or with undefined if the user gives none. @throws McpError 'INVALID' if it is not open */
  answer(id: string, value: string | undefined): void {
    const open = this.#open.get(id)
    if (open === undefined) throw new McpError('INVALID', 'This value is not asked for any more.')
    open.settle(value)
  }

  /** No client can show one any more, or the host ends. */
  giveUp(): void {
    for (const { settle } of [...this.#open.values()]) settle(undefined)
  }

  #emit(changes: readonly Change<InputRow>[]): void {
    for (const listener of this.#listeners) listener(changes)
  }
}
