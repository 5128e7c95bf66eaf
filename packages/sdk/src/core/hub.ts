import type { SubscriptionFilter } from '../protocol/definitions.ts'
import type { Change, Changes } from './changes.ts'

interface Watcher {
  wants(change: Change): boolean
  tell(change: Change): void
}

/** An in-process hub for one server's changes. */
export function createChanges(): Changes {
  const watchers = new Set<Watcher>()
  return {
    publish(change) {
      for (const watcher of watchers) if (watcher.wants(change)) watcher.tell(change)
    },
    watch: (wants, signal) => watch(watchers, wants, signal),
  }
}

/** What a change is to somebody who listens for this: where anything may have changed, each of it may have. */
export function changesFor(change: Change, filter: SubscriptionFilter): Change[] {
  if (change.type !== 'anything') return [change]
  const lists: Change[] = []
  if (filter.toolsListChanged === true) lists.push({ type: 'tools' })
  if (filter.promptsListChanged === true) lists.push({ type: 'prompts' })
  if (filter.resourcesListChanged === true) lists.push({ type: 'resources' })
  const resources = (filter.resourceSubscriptions ?? []).map((uri): Change => ({ type: 'resource', uri }))
  return [...lists, ...resources]
}

function watch(watchers: Set<Watcher>, wants: Watcher['wants'], signal: AbortSignal): AsyncIterable<Change> {
  const unread = new Map<string, Change>()
  let wake: (() => void) | undefined
  const watcher: Watcher = {
    wants,
    tell(change) {
      unread.set(keyOf(change), change)
      wake?.()
    },
  }
  const stop = (): void => {
    watchers.delete(watcher)
    wake?.()
  }
  if (!signal.aborted) {
    watchers.add(watcher)
    signal.addEventListener('abort', stop, { once: true })
  }

  async function* read(): AsyncGenerator<Change> {
    try {
      while (!signal.aborted) {
        for (const [key, change] of unread) {
          unread.delete(key)
          yield change
          if (signal.aborted) return
        }
        if (unread.size > 0 || signal.aborted) continue
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        wake = undefined
      }
    } finally {
      signal.removeEventListener('abort', stop)
      stop()
    }
  }
  return read()
}

function keyOf(change: Change): string {
  switch (change.type) {
    case 'resource':
      return `resource ${change.uri}`
    case 'elicitation':
      return `elicitation ${change.id}`
    default:
      return change.type
  }
}
