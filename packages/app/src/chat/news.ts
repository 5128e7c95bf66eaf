import type { AttachedCopy, CatalogTool } from '@jackfield/host'
import type { HostClient, ServerRow, View } from '@jackfield/host/client'
import { onNotice } from '../cli/host.ts'
import { oneLine } from '../output/sanitize.ts'
import { createWarnings } from '../output/warnings.ts'
import { type NewsEvent, noticeText } from './notices.ts'

/** Events outside the conversation, each shown once. */
export interface News {
  add(event: NewsEvent): Promise<void>
  /** Server lists changed. */
  catalogChanged(): void
  /** Attachments of the conversation changed or became outdated. */
  attachedChanged(): Promise<void>
  end(): void
}

/** The tools of a host, and the attachments of the current conversation. */
export interface NewsSource {
  tools(): Promise<readonly CatalogTool[]>
  /** Servers that are reconnecting: their previous lists remain valid until then. */
  connecting(): Promise<ReadonlySet<string>>
  attached(): Promise<readonly AttachedCopy[]>
}

/** Delay that combines list changes of several servers and reconnects into one notice. */
const settleMs = 300
const maxNames = 6

/** Emits notices of a host until the returned function is called. */
export function followNews(client: HostClient, news: News): () => void {
  let servers: View<ServerRow> | undefined
  let isFirst = true
  /** A replacement host starts all servers again, which needs no notice. */
  let isStarting = false
  const ends = [
    client.subscribe('servers', {
      rows(view) {
        for (const [name, { connection }] of view) {
          const before = servers?.get(name)?.connection
          const isChanged = before !== undefined && JSON.stringify(before) !== JSON.stringify(connection)
          if (isChanged && !isStarting) news.add({ type: 'connection', server: name, state: connection })
        }
        servers = view
      },
    }),
    client.subscribe('catalog', {
      rows() {
        if (!isFirst && !isStarting) news.catalogChanged()
        isFirst = false
      },
    }),
    client.onState((state) => {
      if (state.state !== 'connected' || state.isKnown) return
      isStarting = true
      const onStarted = (): void => {
        isStarting = false
        news.catalogChanged()
      }
      client.call('servers.start', {}).then(onStarted, onStarted)
    }),
    onNotice(client, (event) => news.add(event)),
  ]
  return () => {
    for (const end of ends) end()
    news.end()
  }
}

/** Shows events of interest: servers, changed attachments, added and removed tools. */
export function createNews(source: NewsSource, print: (text: string) => void): News {
  const shown = new Set<string>()
  /** Servers whose login page was opened. */
  const signingIn = new Set<string>()
  const warnings = createWarnings(print)
  let knownTools = toolsOf(source)
  let settleTimer: NodeJS.Timeout | undefined

  async function printTools(): Promise<void> {
    // If the host has ended, its tools are unknown and no change is reported.
    const [before, now] = await Promise.all([knownTools, toolsOf(source)])
    const connecting = await source.connecting().catch(() => undefined)
    if (now === undefined || connecting === undefined) return
    for (const [name, tool] of before ?? [])
      if (connecting.has(tool.server) && !now.has(name)) now.set(name, tool)
    knownTools = Promise.resolve(now)
    if (before === undefined) return
    const parts = [
      namesLine(
        'new',
        [...now.keys()].filter((name) => !before.has(name)),
      ),
      namesLine(
        'gone',
        [...before.keys()].filter((name) => !now.has(name)),
      ),
      namesLine(
        'changed',
        [...now]
          .filter(([name, { text }]) => before.has(name) && before.get(name)?.text !== text)
          .map(([name]) => name),
      ),
    ].filter((part) => part !== '')
    if (parts.length > 0) print(`Tools: ${parts.join('; ')}. /tools lists them.`)
  }

  return {
    async add(event) {
      if (event.type === 'resource-updated' && (await isAttached(source, event))) return
      if (event.type === 'login') signingIn.add(event.server)
      if (event.type === 'connection' && event.state.state === 'ready' && signingIn.delete(event.server))
        print(`Signed in to ${oneLine(event.server)}.`)
      const text = noticeText(event)
      if (text === undefined) return
      const isWarning = event.type === 'warning' || (event.type === 'log' && event.level === 'warning')
      if (isWarning) warnings.show(event.server, text)
      else print(text)
    },
    catalogChanged() {
      clearTimeout(settleTimer)
      settleTimer = setTimeout(() => printTools().catch(() => {}), settleMs)
      settleTimer.unref()
    },
    async attachedChanged() {
      for (const { server, uri, at, title, stale } of await source.attached()) {
        const key = JSON.stringify([server, uri, at])
        if (!stale || shown.has(key)) continue
        shown.add(key)
        print(
          `! ${oneLine(title)} (${oneLine(uri)}) changed since it was attached. /attach again shows the difference and attaches the current version.`,
        )
      }
    },
    end() {
      clearTimeout(settleTimer)
      warnings.end()
    },
  }
}

async function isAttached(
  source: NewsSource,
  { server, uri }: { server: string; uri: string },
): Promise<boolean> {
  const copies = await source.attached().catch(() => [])
  return copies.some((copy) => copy.server === server && uri.startsWith(copy.uri))
}

interface KnownTool {
  readonly server: string
  readonly text: string
}

async function toolsOf(source: NewsSource): Promise<Map<string, KnownTool> | undefined> {
  const tools = await source.tools().catch(() => undefined)
  return (
    tools && new Map(tools.map(({ name, server, tool }) => [name, { server, text: JSON.stringify(tool) }]))
  )
}

function namesLine(what: string, names: readonly string[]): string {
  if (names.length === 0) return ''
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : ''
  return `${what}: ${names
    .slice(0, maxNames)
    .map((name) => oneLine(name, 60))
    .join(', ')}${more}`
}
