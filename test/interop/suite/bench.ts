import type { ProtocolVersion } from '@jackfield/sdk'
import { type Fault, faultsIn } from '../tap/check.ts'
import { tappedFetch } from '../tap/fetch.ts'
import { Lines } from '../tap/lines.ts'
import { Tap, type Tapped } from '../tap/tap.ts'
import type { Pair } from './pair.ts'
import {
  type ClientAnswers,
  type ClientKind,
  defaultAnswers,
  type ServerAddress,
  type TestClient,
} from './test-client.ts'

interface Opened {
  readonly client: TestClient
  readonly tap: Tap
  readonly lines: Lines | undefined
}

/** How a case connects: to be asked everything, or nothing. */
export type Manner = 'everything' | 'nothing'

/** The connections, answers and messages of the cases of one pair. */
export class Bench {
  readonly kind: ClientKind
  readonly revision: ProtocolVersion
  /** The client's answers; every case begins with the defaults. */
  readonly answers: ClientAnswers = defaultAnswers()
  readonly address: ServerAddress
  /** The number of messages that were checked with the schema. */
  checked = 0
  readonly #only: boolean
  readonly #opened: Opened[] = []
  readonly #own = new Set<Opened>()
  readonly #shared = new Map<Manner, Promise<Opened>>()

  constructor({ client, revision, only = false }: Pair, address: ServerAddress) {
    this.kind = client
    this.revision = revision
    this.address = address
    this.#only = only
  }

  /** Opens the shared connections already, both at once; the first cases show whether that works. */
  begin(): void {
    for (const opening of [this.able(), this.mute()]) opening.catch(() => {})
  }

  /** The connection cases share; it can be asked everything. */
  able(): Promise<TestClient> {
    return this.#share('everything')
  }

  /** The connection of a client that can be asked nothing. */
  mute(): Promise<TestClient> {
    return this.#share('nothing')
  }

  /** A connection for one case alone. */
  async open(manner: Manner = 'everything'): Promise<TestClient> {
    const opened = await this.#open(manner)
    this.#own.add(opened)
    return opened.client
  }

  /** What is known of the messages of a connection. */
  tapOf(client: TestClient): Tap {
    const opened = this.#opened.find((one) => one.client === client)
    if (opened === undefined) throw new Error('No connection of this bench')
    return opened.tap
  }

  /** Why no connection comes about where only this revision is allowed. */
  async refusalOf(revision: ProtocolVersion): Promise<unknown> {
    try {
      const client = await this.kind.connect(this.address, revision, { fetch, only: true })
      await client.close()
    } catch (error) {
      return error
    }
    throw new Error(`The server speaks ${revision} after all`)
  }

  /** Ends what a case opened, and returns the faults of the messages since the last case. */
  async settle(): Promise<Fault[]> {
    await Promise.all([...this.#own].map(({ client }) => client.close().catch(() => {})))
    this.#own.clear()
    Object.assign(this.answers, defaultAnswers())
    for (const { client } of this.#opened)
      for (const entries of Object.values(client.notifications)) entries.length = 0
    return this.#faults()
  }

  async close(): Promise<Fault[]> {
    await Promise.all(this.#opened.map(({ client }) => client.close().catch(() => {})))
    const faults = this.#faults()
    for (const { lines } of this.#opened.splice(0)) lines?.remove()
    return faults
  }

  async #share(manner: Manner): Promise<TestClient> {
    const shared = this.#shared.get(manner) ?? this.#open(manner)
    this.#shared.set(manner, shared)
    return (await shared).client
  }

  async #open(manner: Manner): Promise<Opened> {
    const tap = new Tap()
    const { address, answers } = this
    const lines = 'command' in address ? new Lines() : undefined
    const reached = 'command' in address && lines ? { ...address, args: lines.around(address.args) } : address
    const client = await this.kind.connect(reached, this.revision, {
      fetch: tappedFetch(tap),
      ...(manner !== 'nothing' && {
        answers: {
          person: (question) => answers.person(question),
          model: (question) => answers.model(question),
          get folders() {
            return answers.folders
          },
        },
      }),
      only: this.#only,
    })
    const opened = { client, tap, lines }
    this.#opened.push(opened)
    return opened
  }

  #faults(): Fault[] {
    return this.#opened.flatMap(({ tap, lines }) => {
      lines?.show(tap)
      const garbage = tap.garbage.splice(0).map(
        ({ from, text }): Fault => ({
          from,
          method: 'none',
          what: 'a line that is no JSON',
          message: text,
        }),
      )
      return [...garbage, ...this.#check(tap.take())]
    })
  }

  #check(messages: Tapped[]): Fault[] {
    this.checked += messages.length
    return messages.flatMap((tapped) => faultsIn(this.revision, tapped))
  }
}
