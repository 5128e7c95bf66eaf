import type { ConnectionState } from '@jackfield/host'
import type { ConfigurationNotice, Notice } from '@jackfield/host/client'
import { inOneLine } from '../output/connection.ts'
import { withFixLines } from '../output/fixes.ts'
import { oneLine, plain } from '../output/sanitize.ts'

type WithoutTime<N> = N extends Notice ? Omit<N, 'at'> : never

/** An event outside the conversation. */
export type NewsEvent =
  | WithoutTime<Notice>
  | { readonly type: 'connection'; readonly server: string; readonly state: ConnectionState }
  /** `name`: the tool, or the call. */
  | {
      readonly type: 'progress'
      readonly name: string
      readonly progress: number
      readonly total?: number
      readonly message?: string
    }

/** The line shown for an event; undefined for events that are not shown. */
export function noticeText(event: NewsEvent): string | undefined {
  switch (event.type) {
    case 'connection': {
      const why = event.state.state === 'asleep' ? '' : inOneLine(event.state)
      return why === '' ? undefined : `${oneLine(event.server)} is ${event.state.state}: ${why}`
    }
    case 'login':
      return `Sign in to ${oneLine(event.server)} at the page that opens, or here: ${plain(event.url)}`
    case 'progress': {
      const of = event.total === undefined ? '' : ` of ${event.total}`
      const message = event.message === undefined ? '' : ` ${oneLine(event.message)}`
      return `  ${oneLine(event.name)}: ${event.progress}${of}${message}`
    }
    case 'sampling':
      return `${oneLine(event.server)} requested a model response: the built-in planner (${oneLine(event.model)}) gave it, without network access or cost`
    case 'warning':
      return withFixLines(`${oneLine(event.server)}: ${oneLine(event.message)}`, event.fixes ?? [])
    case 'resource-updated':
      return `${oneLine(event.server)}: ${oneLine(event.uri)} changed`
    case 'configuration':
      return configurationText(event)
    case 'log': {
      if (event.level === 'debug' || event.level === 'info') return undefined
      const text = typeof event.data === 'string' ? event.data : JSON.stringify(event.data)
      return `${oneLine(event.server)} [${oneLine(event.level)}] ${oneLine(text, 300)}`
    }
    default:
      return undefined
  }
}

function configurationText(event: ConfigurationNotice): string | undefined {
  if ('problem' in event) return plain(event.problem)
  const lines = Object.entries(event.done).flatMap(([what, names]: [string, string[]]) =>
    names.length === 0 ? [] : [`${what} by the configuration: ${oneLine(names.join(', '))}`],
  )
  if (event.rules !== undefined)
    lines.push(`the rules of the configuration changed: there are now ${event.rules}`)
  return lines.length === 0 ? undefined : lines.join('\n')
}
