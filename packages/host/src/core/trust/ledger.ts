import type { TrustRow, TrustTable, TrustWriter } from '../../log/store/trust-table.ts'
import type { TrustItem } from '../../types/index.ts'

type Rows = Map<string, TrustRow>

/** The rows of the store by thing, kept in memory as long as no other program writes to it. */
export class Ledger {
  readonly #table: TrustTable
  readonly #rows = new Map<string, Rows>()
  #version: number | undefined

  constructor(table: TrustTable) {
    this.#table = table
  }

  /** Everything that is known of one server. Do not keep it: another program may change it. */
  rows(identity: string): ReadonlyMap<string, TrustRow> {
    const version = this.#table.version()
    if (version !== this.#version) this.#rows.clear()
    this.#version = version
    const known = this.#rows.get(identity)
    if (known !== undefined) return known
    const rows = new Map(this.#table.rows(identity).map((row) => [keyOf(row), row] as const))
    this.#rows.set(identity, rows)
    return rows
  }

  names: TrustTable['names'] = (key) => this.#table.names(key)

  servers: TrustTable['servers'] = () => this.#table.servers()

  write(identity: string, work: (writer: TrustWriter) => void): void {
    this.#rows.delete(identity)
    this.#table.write(work)
  }
}

export function keyOf({ what, name }: TrustItem): string {
  return `${what} ${name}`
}
