import { Parser } from 'htmlparser2'

/** Parses HTML into events. Adjacent text is one event, although the parser splits text at every entity. */

export interface HtmlEvents {
  /** @returns false to stop reading */
  open(name: string, attributes: Record<string, string>): boolean
  text(text: string): void
  /** Every element that was opened is closed, in order, unless reading stopped. */
  close(name: string): void
}

/** Reads a document. */
export function readHtml(html: string, events: HtmlEvents): void {
  let pending: string[] = []
  const flush = (): void => {
    if (pending.length === 0) return
    const text = pending.join('')
    pending = []
    events.text(text)
  }
  const parser = new Parser({
    onopentag(name, attributes) {
      flush()
      if (!events.open(name, attributes)) parser.pause()
    },
    ontext(text) {
      pending.push(text)
    },
    onclosetag(name) {
      flush()
      events.close(name)
    },
    onend: flush,
  })
  parser.end(html)
}
