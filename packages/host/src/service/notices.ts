import type { HostEvent } from '../types/index.ts'
import type { ConfigurationNotice, Notice } from './contract.ts'
import type { TopicSource } from './topic.ts'
import type { Change } from './view.ts'

/** Maximum rows of the topic. */
const maxStored = 500

/** An event of the host that is a notice. */
type HostNotice = Extract<HostEvent, { type: Notice['type'] }>

/** The types of host events that are notices. */
export const noticeTypes: readonly HostNotice['type'][] = [
  'log',
  'stderr',
  'warning',
  'login',
  'sampling',
  'policy',
  'roots',
  'trust',
  'resource-updated',
]

/** Whether an event is stored as a notice. */
export function isNotice(event: HostEvent): event is HostNotice {
  return noticeTypes.some((type) => type === event.type)
}

/** The last transient notices, as the rows of the topic `notices`. */
export class Notices {
  readonly #notices: Notice[] = []
  readonly #listeners = new Set<(changes: readonly Change<Notice>[]) => void>()
  #count = 0

  readonly topic: TopicSource<Notice> = {
    rows: () => this.#notices.map((notice, n) => [String(this.#count - this.#notices.length + n), notice]),
    follow: ({ push }) => {
      this.#listeners.add(push)
      return () => this.#listeners.delete(push)
    },
  }

  /** `event`: without its time. */
  add(event: HostNotice | ConfigurationNotice): void {
    const notice: Notice = { ...event, at: new Date().toISOString() }
    const changes: Change<Notice>[] = [{ set: String(this.#count), row: notice }]
    this.#notices.push(notice)
    this.#count += 1
    if (this.#notices.length > maxStored) {
      this.#notices.shift()
      changes.push({ remove: String(this.#count - 1 - maxStored) })
    }
    for (const listener of this.#listeners) listener(changes)
  }
}
