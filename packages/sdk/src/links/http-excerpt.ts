import { parseJson } from '../jsonrpc/parse.ts'
import { shown } from '../jsonrpc/shown.ts'

/** Elements whose text is not shown on a page. */
const hidden = new Set(['script', 'style', 'svg', 'template', 'noscript'])
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  nbsp: ' ',
}

/** What to check after an answer that is not a success; `''` where nothing in particular. */
export function adviceFor(status: number): string {
  switch (status) {
    case 400:
      return 'The server rejected the request: its log may say why.'
    case 404:
    case 410:
      return 'No MCP endpoint is there. Check the path of the URL.'
    case 405:
      return 'Nothing there takes messages by POST. Check the path of the URL.'
    case 406:
    case 415:
      return 'Check the path of the URL, and what a proxy in front of the server changes.'
    case 413:
      return 'The message is larger than the server, or a proxy in front of it, allows.'
    case 429:
      return 'Wait before the next attempt.'
    case 502:
    case 503:
    case 504:
      return 'Check that the server behind this address runs.'
    default:
      return status >= 500 ? 'The server failed: its log may say why.' : ''
  }
}

/** What the beginning of a body says, in one line without control characters: the text of a page, the message in JSON. */
export function bodyExcerpt(body: string, type: string): string {
  if (type === 'text/html' || /^\s*<(?:!doctype|html)/i.test(body)) return shown(pageText(body))
  return shown((messageIn(body) ?? body).trim())
}

/** The title of a page and the text on it, read in one pass. */
function pageText(html: string): string {
  let title = ''
  let text = ''
  let within = ''
  for (const piece of html.split('<').slice(1)) {
    const [, close = '', tag = ''] = /^(\/?)([a-z]*)/i.exec(piece) ?? []
    const name = tag.toLowerCase()
    if (within !== '') {
      if (close === '' || name !== within) continue
      within = ''
    } else if (close === '' && hidden.has(name)) {
      within = name
      continue
    }
    const after = piece.slice(piece.indexOf('>') + 1)
    if (name === 'title' && close === '') title = tidy(after)
    else text += ` ${after}`
  }
  const rest = tidy(text)
  return title === '' || rest === '' ? title + rest : `${title}: ${rest}`
}

function tidy(text: string): string {
  return text
    .replaceAll(/&(#?\w{1,8});/g, (whole, name: string) => entities[name] ?? whole)
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** Where frameworks and gateways put the message of an error. */
function messageIn(body: string): string | undefined {
  const value = Object(json(body))
  const places = [
    value.error?.message,
    value.error_description,
    value.message,
    value.error,
    value.detail,
    value.title,
  ]
  return places.find((place) => typeof place === 'string' && place.trim() !== '')
}

function json(body: string): unknown {
  try {
    return parseJson(body)
  } catch {
    return undefined
  }
}
