import { type FSWatcher, watch } from 'node:fs'
import {
  type ChangeSubscription,
  type Changes,
  ErrorCode,
  RpcError,
  type Subscriber,
  type SubscriptionFilter,
} from '@jackfield/sdk'
import { pathOf } from './access/access.ts'
import type { Boundary } from './access/boundary.ts'
import { type Directory, statIn } from './access/directory.ts'
import { type ToolDependencies, withPath } from './tools/shared.ts'

/** Time in milliseconds in which changes of one file are combined into one notification. */
const debounceMs = 50
/** Time in milliseconds until a missing directory is looked up again. */
const retryMs = 2_000

/**
 * Watches files for subscribed clients, as the source of a server's changes. A file is watched through its directory, so that
 * replacing it is a change as well.
 */
export class FileSubscriptions {
  readonly #dependencies: ToolDependencies
  readonly #changes: Changes
  #count = 0

  constructor(dependencies: ToolDependencies, changes: Changes) {
    this.#dependencies = dependencies
    this.#changes = changes
  }

  /** Watches what a filter names, as far as it is within the boundary of the client. @throws RpcError above the limit */
  async subscribe(filter: SubscriptionFilter, subscriber: Subscriber): Promise<ChangeSubscription> {
    const boundary = this.#dependencies.access.ofSubscriber(subscriber)
    const wanted = [...new Set(filter.resourceSubscriptions ?? [])].flatMap((uri) => {
      const path = pathOf(uri)
      return path === undefined || boundary.find(path) === undefined ? [] : [{ uri, path }]
    })
    const { subscriptions } = this.#dependencies.settings.limits
    if (this.#count + wanted.length > subscriptions) {
      throw new RpcError(
        ErrorCode.InvalidParams,
        `At most ${subscriptions} files can be subscribed to at once. Unsubscribe from others first.`,
      )
    }
    this.#count += wanted.length
    const watches = wanted.map(
      ({ uri, path }) =>
        new PathWatcher(this.#dependencies, boundary, path, () =>
          this.#changes.publish({ type: 'resource', uri }),
        ),
    )
    await Promise.all(watches.map((one) => one.start()))
    let isOver = false
    return {
      acknowledged: {
        ...filter,
        ...(filter.resourceSubscriptions === undefined
          ? {}
          : { resourceSubscriptions: wanted.map(({ uri }) => uri) }),
      },
      release: () => {
        if (isOver) return
        isOver = true
        this.#count -= wanted.length
        for (const one of watches) one.stop()
      },
    }
  }
}

/** Watches one path, which need not exist. */
class PathWatcher {
  readonly #dependencies: ToolDependencies
  readonly #boundary: Boundary
  readonly #path: string
  readonly #onChange: () => void
  #watchers: FSWatcher[] = []
  #timer: NodeJS.Timeout | undefined
  /** Whether the client is still to be notified. */
  #isChanged = false
  /** Whether the directory of the path does not exist. */
  #isMissing = false
  #isOver = false

  constructor(dependencies: ToolDependencies, boundary: Boundary, path: string, onChange: () => void) {
    this.#dependencies = dependencies
    this.#boundary = boundary
    this.#path = path
    this.#onChange = onChange
  }

  async start(): Promise<void> {
    try {
      await withPath(this.#dependencies, this.#boundary, this.#path, async ({ directory, name }) => {
        const stats = await statIn(directory, name)
        await this.#watch(directory, name === '.' ? undefined : name)
        if (stats?.isDirectory() !== true || name === '.') return
        // The entries of a directory are watched as well.
        const inner = await directory.openDirectory(name)
        try {
          await this.#watch(inner, undefined)
        } finally {
          await inner.close()
        }
      })
      // A path whose directory was missing has changed when the directory appears.
      if (this.#isMissing) this.#isChanged = true
      this.#isMissing = false
    } catch {
      this.#isMissing = true
      this.#schedule(retryMs, false)
    }
  }

  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers) watcher.close()
  }

  /** Watches one name in a directory, or all of them. */
  async #watch(directory: Directory, name: string | undefined): Promise<void> {
    const watcher = await directory.use('.', async (path) => watch(path, { persistent: false }))
    watcher.on('change', (event, changed) => {
      const isOwn = name === undefined || changed === null || changed === name
      // Another name may be that of the directory itself, which is moved or removed: then the watch is restarted.
      if (isOwn) this.#schedule(debounceMs, true)
      else if (event === 'rename') this.#schedule(debounceMs, false)
    })
    watcher.on('error', () => this.#schedule(retryMs, true))
    if (this.#isOver) watcher.close()
    else this.#watchers.push(watcher)
  }

  #schedule(ms: number, isChanged: boolean): void {
    this.#isChanged ||= isChanged
    if (this.#isOver || this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const previous = this.#watchers
      this.#watchers = []
      // The new watch starts before the old one ends and before the notification, so that no change is missed.
      this.start().then(
        () => {
          for (const watcher of previous) watcher.close()
          if (this.#isOver || !this.#isChanged) return
          this.#isChanged = false
          this.#onChange()
        },
        () => {},
      )
    }, ms)
    this.#timer.unref()
  }
}
