/** Decodes text, and removes characters that a person would not see. */

/** The text of a body: by its byte order mark, the charset of the response, or a declaration in the document; else UTF-8. */
export function decodeText(body: Uint8Array, charset: string | undefined): string {
  const named = charsetOfBom(body) ?? charset ?? declaredCharset(body)
  const decoder = named === undefined ? undefined : decoderFor(named)
  if (decoder !== undefined) return decoder.decode(body)
  try {
    // A body that was cut can end within a character.
    return new TextDecoder('utf-8', { fatal: true }).decode(body, { stream: true })
  } catch {
    // Old pages that declare no charset.
    return new TextDecoder('windows-1252').decode(body)
  }
}

function charsetOfBom(body: Uint8Array): string | undefined {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return 'utf-8'
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be'
  if (body[0] === 0xff && body[1] === 0xfe) return 'utf-16le'
  return undefined
}

/** The charset in `<meta charset>`, `<meta http-equiv>` or an XML declaration, in the first 1024 bytes as browsers read it. */
function declaredCharset(body: Uint8Array): string | undefined {
  const start = Buffer.from(body.subarray(0, 1_024)).toString('latin1')
  const found =
    /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})/i.exec(start) ??
    /^<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w:.-]{1,40})["']/i.exec(start)
  const label = found?.[1]?.toLowerCase()
  // A declaration that can be read in ASCII is not in UTF-16.
  return label?.startsWith('utf-16') ? 'utf-8' : label
}

function decoderFor(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}

/** Whether a body contains no control bytes that text does not contain. */
export function looksLikeText(body: Uint8Array): boolean {
  if (charsetOfBom(body) !== undefined) return true
  return !body
    .subarray(0, 4_096)
    .some((byte) => byte < 9 || (byte > 13 && byte < 27) || (byte > 27 && byte < 32))
}

/**
 * Characters that show nothing: zero-width characters, soft hyphens, bidirectional controls, tags and supplementary variation
 * selectors. They can hide text from a person that a model reads. Joiners and variation selectors have rules of their own.
 */
const invisible =
  /(?!\u200c|\u200d|[\ufe00-\ufe0f]|[\u180b-\u180d])(?:\p{Default_Ignorable_Code_Point}|[\u202a-\u202e\u2066-\u2069\ufff9-\ufffb])/gu
/** Joiners are part of the writing of many scripts and of emoji; next to ASCII characters they have no effect. */
const joiners = /(?<!\P{ASCII})(?:\u200c|\u200d)+|(?:\u200c|\u200d)+(?!\P{ASCII})/gu
/** One variation selector belongs to the character before it; more have no effect. */
const selectors = /(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+/gu
const controls = /(?![\t\n])\p{Cc}/gu

/** A text without invisible characters and control characters, and how many there were. */
export function visibleText(text: string): { text: string; removed: number } {
  const cleaned = text
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
    .replace(/[\u2028\u2029]/g, '\n')
    .toWellFormed()
  let removed = 0
  const remove = (match: string): string => {
    removed += [...match].length
    return ''
  }
  const visible = [controls, invisible, joiners, selectors].reduce(
    (rest, kind) => rest.replace(kind, remove),
    cleaned,
  )
  return { text: visible, removed }
}
