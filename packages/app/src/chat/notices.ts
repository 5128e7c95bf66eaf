import type { HostEvent } from '@jackfield/host'
import { inOneLine } from '../output/connection.ts'
import { oneLine, plain } from '../output/sanitize.ts'

/** What is worth a line while the person talks; undefined for all else. */
export function notice(event: HostEvent): string | undefined {
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
      return `  ${oneLine(event.tool)}: ${event.progress}${of}${message}`
    }
    case 'sampling':
      return `${oneLine(event.server)} asked for a model's answer: the built-in planner (${oneLine(event.model)}) gave it, without network or cost`
    case 'warning':
      return `${oneLine(event.server)}: ${oneLine(event.message)}`
    case 'resource-updated':
      return `${oneLine(event.server)}: ${oneLine(event.uri)} changed`
    case 'log': {
      if (event.level === 'debug' || event.level === 'info') return undefined
      const text = typeof event.data === 'string' ? event.data : JSON.stringify(event.data)
      return `${oneLine(event.server)} [${oneLine(event.level)}] ${oneLine(text, 300)}`
    }
    default:
      return undefined
  }
}
