import type { Conversation, Host, HostEvent, Library } from '@jackfield/host'
import { oneLine } from '../output/sanitize.ts'
import { createWarnings } from '../output/warnings.ts'
import { notice } from './notices.ts'

/** What happens beside the conversation, told once. */
export interface News {
  hear(event: HostEvent): void
  end(): void
}

/** What is listened to: the tools of a host, and what is attached to the conversation that is held now. */
export interface NewsSource {
  readonly host: Pick<Host, 'tools'> & { readonly library: Pick<Library, 'attached'> }
  readonly talk: Pick<Conversation, 'id'>
}

/** Lists of several servers change in one go, and servers come back: what is there then is what counts. */
const settleMs = 300
const most = 6

/** Listens for what is worth telling: servers, attached resources that changed, tools that came and went. */
export function createNews(state: NewsSource, tell: (text: string) => void): News {
  const { host } = state
  const told = new Set<string>()
  /** Servers whose sign-in page was opened. */
  const signingIn = new Set<string>()
  const warnings = createWarnings(tell)
  let known = toolsOf(state)
  let settling: NodeJS.Timeout | undefined

  function tellStale(): void {
    for (const { server, uri, at, title, stale } of host.library.attached(state.talk.id)) {
      const key = JSON.stringify([server, uri, at])
      if (!stale || told.has(key)) continue
      told.add(key)
      tell(
        `! ${oneLine(title)} (${oneLine(uri)}) changed since it was attached. /attach again shows how and takes it as it is now.`,
      )
    }
  }

  function tellTools(): void {
    const now = toolsOf(state)
    const parts = [
      listed(
        'new',
        [...now.keys()].filter((name) => !known.has(name)),
      ),
      listed(
        'gone',
        [...known.keys()].filter((name) => !now.has(name)),
      ),
      listed(
        'changed',
        [...now].filter(([name, text]) => known.has(name) && known.get(name) !== text).map(([name]) => name),
      ),
    ].filter((part) => part !== '')
    known = now
    if (parts.length > 0) tell(`Tools: ${parts.join('; ')}. /tools lists them.`)
  }

  return {
    hear(event) {
      if (event.type === 'attached') {
        if (event.conversation === state.talk.id) tellStale()
        return
      }
      if (event.type === 'catalog' || event.type === 'trust') {
        clearTimeout(settling)
        settling = setTimeout(tellTools, settleMs)
        settling.unref()
        return
      }
      if (event.type === 'resource-updated' && isAttached(state, event)) return
      if (event.type === 'login') signingIn.add(event.server)
      if (event.type === 'connection' && event.state.state === 'ready' && signingIn.delete(event.server))
        tell(`Signed in to ${oneLine(event.server)}.`)
      const text = notice(event)
      if (text === undefined) return
      const isWarning = event.type === 'warning' || (event.type === 'log' && event.level === 'warning')
      if (isWarning) warnings.show(event.server, text)
      else tell(text)
    },
    end() {
      clearTimeout(settling)
      warnings.end()
    },
  }
}

function isAttached({ host, talk }: NewsSource, { server, uri }: { server: string; uri: string }): boolean {
  return host.library.attached(talk.id).some((copy) => copy.server === server && uri.startsWith(copy.uri))
}

function toolsOf({ host }: NewsSource): Map<string, string> {
  return new Map(host.tools().map(({ name, tool }) => [name, JSON.stringify(tool)]))
}

function listed(what: string, names: readonly string[]): string {
  if (names.length === 0) return ''
  const more = names.length > most ? ` and ${names.length - most} more` : ''
  return `${what}: ${names
    .slice(0, most)
    .map((name) => oneLine(name, 60))
    .join(', ')}${more}`
}
