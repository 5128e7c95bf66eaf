import { randomBytes } from 'node:crypto'
import { McpError } from '@jackfield/sdk'
import type { TraceFormat, TraceService } from '../types/index.ts'

/** Milliseconds for which a ticket is valid. */
const ticketMs = 60_000
const maxTickets = 64

/** A file that is generated while it is downloaded. */
export interface Download {
  /** The suggested file name. */
  readonly name: string
  /** Generates the text in chunks, as fast as they are read. */
  readonly pieces: AsyncGenerator<string, void>
}

const extensions: Readonly<Record<TraceFormat | 'recording', string>> = {
  jsonl: 'jsonl',
  har: 'har',
  otlp: 'otlp.json',
  recording: 'recording.json',
}

/** Files that clients download over HTTP. A ticket is valid once, for 60 s. */
export class Downloads {
  readonly #tickets = new Map<string, { download: Download; timer: NodeJS.Timeout }>()

  /**
   * Creates the ticket of a log export. Errors are thrown here, before the download begins.
   * @throws McpError 'LIMIT' if too many tickets are open, 'INVALID' if these events cannot be made a recording
   */
  async offer(trace: TraceService, format: TraceFormat | 'recording', filter = ''): Promise<string> {
    if (this.#tickets.size >= maxTickets)
      throw new McpError('LIMIT', `${maxTickets} downloads wait already. Try again in a minute.`)
    const pieces =
      format === 'recording'
        ? singleChunk(JSON.stringify(await trace.recording({ filter, limit: 100_000 }), null, 2))
        : await startGenerator(trace.export(format, { filter }))
    const at = new Date().toISOString().replaceAll(/[:.]/g, '-')
    const ticket = randomBytes(16).toString('base64url')
    const download = { name: `jackfield-${at}.${extensions[format]}`, pieces }
    const timer = setTimeout(() => {
      this.#tickets.delete(ticket)
      void pieces.return()
    }, ticketMs)
    this.#tickets.set(ticket, { download, timer: timer.unref() })
    return ticket
  }

  /** Uses a ticket; undefined if it does not exist or has expired. */
  use(ticket: string): Download | undefined {
    const { download, timer } = this.#tickets.get(ticket) ?? {}
    clearTimeout(timer)
    this.#tickets.delete(ticket)
    return download
  }
}

async function* singleChunk(text: string): AsyncGenerator<string, void> {
  yield text
}

/** The chunks of a generator, after the first was generated, so that an invalid filter is reported at once. */
async function startGenerator(pieces: AsyncGenerator<string, void>): Promise<AsyncGenerator<string, void>> {
  const first = await pieces.next()
  return (async function* () {
    if (first.done !== true) yield first.value
    yield* pieces
  })()
}
