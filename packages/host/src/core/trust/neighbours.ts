import { mixedWord, nearlySame, skeleton } from '../../shared/look-alike.ts'
import type { TrustFinding } from '../../types/index.ts'
import type { Definition } from './definitions.ts'

/** What other servers are called and offer, to find who poses as whom. */
export interface Neighbours {
  /** Other servers' tools: by name, by what the name looks like, and by the name without separators. */
  readonly byName: ReadonlyMap<string, string>
  readonly byLook: ReadonlyMap<string, { server: string; tool: string }>
  /** Names of the server's own tools. */
  readonly own: ReadonlySet<string>
}

/** Looks up the tools of all servers but one. */
export function neighboursOf(server: string, all: ReadonlyMap<string, readonly string[]>): Neighbours {
  const byName = new Map<string, string>()
  const byLook = new Map<string, { server: string; tool: string }>()
  for (const [other, tools] of all) {
    if (other === server) continue
    for (const tool of tools) {
      byName.set(tool, other)
      byLook.set(skeleton(tool), { server: other, tool })
    }
  }
  return { byName, byLook, own: new Set(all.get(server)) }
}

/** What the name of a tool gives away: one that another server has, or that looks like it. */
export function nameFindings(
  { what, name }: Definition,
  { byName, byLook }: Neighbours,
  at: string,
): TrustFinding[] {
  const found: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, message: string): void => {
    found.push({ severity, code, at, message })
  }
  if (what !== 'tool') return found
  const mixed = mixedWord(name.replaceAll('_', ' '))
  if (mixed !== undefined) {
    add(
      'danger',
      'mixed-letters',
      `"${mixed}" mixes letters of different alphabets, so that it looks like another name.`,
    )
  }
  const same = byName.get(name)
  if (same !== undefined) {
    add(
      'notice',
      'same-name',
      `${same} has a tool of the same name; calls are told apart by the server's name.`,
    )
    return found
  }
  const alike = byLook.get(skeleton(name))
  if (alike === undefined) return found
  const spelled = plainly(alike.tool) === plainly(name)
  add(
    spelled ? 'notice' : 'danger',
    'looks-like',
    `It looks like ${alike.tool} of ${alike.server}, but is ${spelled ? 'spelled' : 'written'} differently.`,
  )
  return found
}

const orders =
  /\b(?:must|always|never|instead|before|whenever|when|should|do not|don't|first|replace|redirect|change|override)\b/i

/** Whether a text speaks of another server's tool, and whether it says what to do with it. */
export function othersNamedIn(
  text: string,
  { byName, own }: Neighbours,
): { server: string; tool: string; ordering: boolean } | undefined {
  if (byName.size === 0) return undefined
  for (const [word] of text.matchAll(/[A-Za-z][\w-]{5,127}/g)) {
    const server = byName.get(word)
    if (server === undefined || own.has(word) || !/[_-]|[a-z][A-Z]/.test(word)) continue
    return { server, tool: word, ordering: orders.test(text) }
  }
  return undefined
}

/** What the name of a server gives away beside the names of the others. */
export function serverFindings(server: string, others: Iterable<string>): TrustFinding[] {
  for (const other of others) {
    if (other === server) continue
    const alike = skeleton(other) === skeleton(server)
    const near =
      server.length >= 5 && other.length >= 5 && nearlySame(server.toLowerCase(), other.toLowerCase())
    if (!alike && !near) continue
    const message = `Its name is easily taken for ${other}, another of your servers.`
    return [{ severity: 'warning', code: 'looks-like', at: 'server', message }]
  }
  return []
}

function plainly(name: string): string {
  return name.toLowerCase().replace(/[\s_.-]/g, '')
}
