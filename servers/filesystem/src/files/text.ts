import { extname } from 'node:path'

/** How the text of a file is stored. `utf-8-bom` begins with a byte order mark; both forms of UTF-16 do as well. */
export const encodings = ['utf-8', 'utf-8-bom', 'utf-16le', 'utf-16be', 'latin1'] as const
export type Encoding = (typeof encodings)[number]

const byteOrderMarks: readonly (readonly [Encoding, readonly number[]])[] = [
  ['utf-8-bom', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

/** The encoding of a file by its first bytes; undefined if they are not text. */
export function encodingOf(start: Uint8Array): Encoding | undefined {
  const found = byteOrderMarks.find(([, bytes]) => bytes.every((byte, at) => start[at] === byte))
  if (found !== undefined) return found[0]
  return start.includes(0) || hasManyControls(start) ? undefined : 'utf-8'
}

/** Whether more than a tenth are control characters, which text files have few of. */
function hasManyControls(bytes: Uint8Array): boolean {
  let controls = 0
  for (const byte of bytes) if (byte < 0x20 && !(byte >= 0x07 && byte <= 0x0d) && byte !== 0x1b) controls++
  return controls * 10 > bytes.length
}

/** Bytes of the byte order mark of an encoding. */
export function byteOrderMarkLength(encoding: Encoding): number {
  return byteOrderMarks.find(([name]) => name === encoding)?.[1].length ?? 0
}

/** A decoder of text in chunks. `fatal` ones throw a TypeError for bytes that are not valid. */
export function decoderOf(encoding: Encoding, fatal: boolean): (chunk: Uint8Array, more: boolean) => string {
  if (encoding === 'latin1')
    return (chunk) => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
  const label = encoding === 'utf-8-bom' ? 'utf-8' : encoding
  const decoder = new TextDecoder(label, { fatal, ignoreBOM: encoding === 'utf-8' })
  return (chunk, more) => decoder.decode(chunk, { stream: more })
}

/** Text as it is stored in a file, with the byte order mark of its encoding. */
export function encode(text: string, encoding: Encoding): Buffer {
  switch (encoding) {
    case 'utf-8':
      return Buffer.from(text, 'utf8')
    case 'utf-8-bom':
      return Buffer.from(`\ufeff${text}`, 'utf8')
    case 'utf-16le':
      return Buffer.from(`\ufeff${text}`, 'utf16le')
    case 'utf-16be':
      return Buffer.from(`\ufeff${text}`, 'utf16le').swap16()
    case 'latin1':
      return Buffer.from(text, 'latin1')
  }
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.aac': 'audio/aac',
  '.avif': 'image/avif',
  '.bmp': 'image/bmp',
  '.c': 'text/x-c',
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.flac': 'audio/flac',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.ico': 'image/vnd.microsoft.icon',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.jsonl': 'application/jsonl',
  '.m4a': 'audio/mp4',
  '.md': 'text/markdown',
  '.mjs': 'text/javascript',
  '.mov': 'video/quicktime',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.ogg': 'audio/ogg',
  '.opus': 'audio/opus',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  '.py': 'text/x-python',
  '.rs': 'text/x-rust',
  '.sh': 'application/x-sh',
  '.svg': 'image/svg+xml',
  '.tar': 'application/x-tar',
  '.tiff': 'image/tiff',
  '.toml': 'application/toml',
  '.ts': 'text/x-typescript',
  '.tsv': 'text/tab-separated-values',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webm': 'video/webm',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.zip': 'application/zip',
}

/** The media type by the extension of a file name; undefined if it is not known. */
export function mediaTypeOf(name: string): string | undefined {
  return mediaTypes[extname(name).toLowerCase()]
}

/** A size for people, such as `1.50 KB`; units of 1024 bytes. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const step = bytes < 1 ? 0 : Math.min(Math.floor(Math.log(bytes) / Math.log(1024)), units.length - 1)
  return step === 0 ? `${bytes} B` : `${(bytes / 1024 ** step).toFixed(2)} ${units[step]}`
}
