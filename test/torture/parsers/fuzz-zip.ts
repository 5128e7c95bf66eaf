import { isObject } from '../../setup/json.ts'
import type { Form } from './mutate.ts'

const entrySize = 46
const endSize = 22
/** The fields of a directory entry, by offset and number of bytes. */
const fields = {
  system: [5, 1],
  flags: [8, 2],
  method: [10, 2],
  packed: [20, 4],
  size: [24, 4],
  extra: [30, 2],
  comment: [32, 2],
  mode: [40, 2],
  at: [42, 4],
} as const
const ends = { here: [8, 2], all: [10, 2], bytes: [12, 4], at: [16, 4], comment: [20, 2] } as const
type Fields = Readonly<Record<string, readonly [number, number]>>

/** A zip archive, one character for each byte: its directory entries and its packed files. */
export const inZip: Form = {
  read: (text) => {
    const bytes = Buffer.from(text, 'latin1')
    const end = bytes.length - endSize
    const directory = bytes.readUInt32LE(end + 16)
    const files: unknown[] = []
    for (let at = directory; at < end; ) {
      const entry = bytes.subarray(at, at + entrySize)
      const next = at + entrySize + entry.readUInt16LE(28)
      files.push({ name: bytes.toString('latin1', at + entrySize, next), ...numbers(entry, fields) })
      at = next + entry.readUInt16LE(30) + entry.readUInt16LE(32)
    }
    return {
      data: bytes.toString('latin1', 0, directory),
      files,
      between: '',
      end: numbers(bytes.subarray(end), ends),
    }
  },
  write: (value) => {
    const { data, files, between, end } = Object(value)
    const list: unknown[] = Array.isArray(files) ? files : [files]
    return [
      bytesIn(data),
      ...list.flatMap((file) => {
        const name = bytesIn(isObject(file) ? file['name'] : file)
        const entry = Buffer.alloc(entrySize)
        entry.writeUInt32LE(0x02014b50, 0)
        entry.writeUInt16LE(name.length, 28)
        return [written(entry, file, fields), name]
      }),
      bytesIn(between),
      written(Buffer.from('PK\u0005\u0006'.padEnd(endSize, '\0')), end, ends),
    ]
      .map((part) => part.toString('latin1'))
      .join('')
  },
}

function numbers(bytes: Buffer, places: Fields): Record<string, number> {
  return Object.fromEntries(
    Object.entries(places).map(([name, [at, size]]) => [name, bytes.readUIntLE(at, size)]),
  )
}

function written(bytes: Buffer, value: unknown, places: Fields): Buffer {
  for (const [name, [at, size]] of Object.entries(places)) {
    const given = Number(isObject(value) ? inNumbers(value[name]) : value)
    bytes.writeUIntLE(Math.trunc(Math.abs(Number.isFinite(given) ? given : 0) % 2 ** (8 * size)), at, size)
  }
  return bytes
}

function inNumbers(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : 0
}

function bytesIn(value: unknown): Buffer {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return Buffer.from(text.slice(0, 4_096), 'latin1')
}
