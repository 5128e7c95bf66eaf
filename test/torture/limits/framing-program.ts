import { LineReader } from '../../../packages/sdk/src/jsonrpc/line-reader.ts'
import { EventReader } from '../../../packages/sdk/src/jsonrpc/sse.ts'
import { Random } from '../random.ts'
import { cpuMs, heldBytes, input, median, numberIn, perDoubling, report } from './meter.ts'

const MiB = 1024 * 1024
const heldLimit = MiB / 4
const encoder = new TextEncoder()

interface Reader {
  push(chunk: Uint8Array): void
}

/** A reader of each framing that keeps what it read. */
const framings: Readonly<
  Record<
    string,
    { reader(read: (text: string) => void, maxBytes?: number): Reader; frame(text: string): string }
  >
> = {
  line: {
    reader: (read, maxBytes) =>
      new LineReader({
        ...(maxBytes === undefined ? {} : { maxBytes }),
        onLine: read,
        onTooLong: () => read('too long'),
        onNotUtf8: () => read('not UTF-8'),
      }),
    frame: (text) => `${text}\n`,
  },
  event: {
    reader: (read, maxBytes) =>
      new EventReader({
        ...(maxBytes === undefined ? {} : { maxBytes }),
        onEvent: ({ data }) => read(data),
        onTooLong: () => read('too long'),
      }),
    frame: (text) => `event: message\ndata: ${text}\n\n`,
  },
}

/** Milliseconds to read one message of so many bytes in pieces of one size. */
function timeOf(framing: string, bytes: number, piece: number): number {
  const how = framings[framing]
  if (how === undefined) throw new Error(framing)
  const stream = encoder.encode(how.frame('x'.repeat(bytes)))
  let got = -1
  const spent = cpuMs(() => {
    const reader = how.reader((text) => {
      got = text.length
    }, 64 * MiB)
    for (let at = 0; at < stream.length; at += piece) reader.push(stream.subarray(at, at + piece))
  })
  if (got !== bytes) throw new Error(`${framing}: ${got} characters of ${bytes} were read`)
  return spent
}

/** Bytes that are buffered when all but the end of a message arrived, in chunks of one byte by default. */
function heldBytesFor(framing: string, bytes: number, filler: string, piece = 1): number {
  const how = framings[framing]
  if (how === undefined) throw new Error(framing)
  const reader = how.reader(() => {}, heldLimit)
  const [before] = how.frame('\0').split('\0')
  const start = heldBytes()
  reader.push(encoder.encode(before))
  const unit = encoder.encode(filler)
  for (let sent = 0; sent < bytes; sent += unit.length) {
    for (let at = 0; at < unit.length; at += piece) reader.push(unit.subarray(at, at + piece))
  }
  const grownBytes = heldBytes() - start
  reader.push(encoder.encode('\n\n'))
  return grownBytes
}

function messageOf(random: Random): string {
  const units = ['a', '"', '\\', 'é', '\u2028', '日', '🂡', '\r', '\n', '\uFEFF', ':', ' ', '\0'] as const
  const text = Array.from({ length: random.between(0, 12) }, () => random.pick(units)).join('')
  return JSON.stringify({ jsonrpc: '2.0', id: random.between(0, 9), method: 'ping', params: { text } })
}

/** Cuts each message at each of its bytes. Gives how many cuts were made. */
function cutEverywhere(messages: number, seed: number): number {
  const random = new Random(seed)
  let cuts = 0
  for (let message = 0; message < messages; message++) {
    const text = messageOf(random)
    for (const [name, { reader, frame }] of Object.entries(framings)) {
      const stream = encoder.encode(frame(text) + frame('{}'))
      for (let at = 0; at <= stream.length; at++) {
        const got: string[] = []
        const one = reader((read) => got.push(read))
        one.push(stream.subarray(0, at))
        one.push(stream.subarray(at))
        if (got.length !== 2 || got[0] !== text || got[1] !== '{}') {
          throw new Error(`${name}, seed ${seed}, message ${message}, cut at ${at}: ${JSON.stringify(got)}`)
        }
        cuts++
      }
    }
  }
  return cuts
}

/** Cuts streams of many messages into pieces of chance. Gives how many pieces there were. */
function cutByChance(streams: number, seed: number): number {
  const random = new Random(seed)
  let pieces = 0
  for (let trial = 0; trial < streams; trial++) {
    const texts = Array.from({ length: 40 }, () => messageOf(random))
    for (const [name, { reader, frame }] of Object.entries(framings)) {
      const stream = encoder.encode(texts.map(frame).join(''))
      const got: string[] = []
      const one = reader((read) => got.push(read))
      for (let at = 0; at < stream.length; pieces++) {
        const end = at + random.between(0, 30)
        one.push(stream.subarray(at, end))
        at = end
      }
      if (JSON.stringify(got) !== JSON.stringify(texts)) {
        throw new Error(`${name}, seed ${seed}, stream ${trial}: other messages were read`)
      }
    }
  }
  return pieces
}

const found: Record<string, number> = {}
const [what, size, seed] = input((given) => [given['what'], numberIn(given, 'size'), numberIn(given, 'seed')])
if (what === 'cuts') {
  found['cuts'] = cutEverywhere(size, seed) + cutByChance(Math.ceil(size / 10), seed)
} else {
  for (const framing of Object.keys(framings)) {
    timeOf(framing, MiB, 1024)
    found[`${framing} 9 MB`] = median(3, () => timeOf(framing, 9_000_000, 1024))
    for (const [piece, bytes] of [
      [1, MiB / 4],
      [64, MiB],
    ] as const) {
      found[`${framing} ratio ${piece}`] = perDoubling(size, 2.2, (scale) =>
        timeOf(framing, scale * bytes, piece),
      )
    }
    found[`${framing} held`] = heldBytesFor(framing, heldLimit - 64, 'x')
  }
  found['event of short lines held'] = heldBytesFor('event', 2 * heldLimit, '\ndata:x')
  found['event of empty lines held'] = heldBytesFor(
    'event',
    128 * heldLimit,
    '\ndata:'.repeat(10_000),
    65_536,
  )
}
report(found)
