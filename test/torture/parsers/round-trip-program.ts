import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonRpcMessage } from '@jackfield/sdk'
import {
  cacheJson,
  responseBody,
  responseText,
  textOfBody,
} from '../../../packages/sdk/src/jsonrpc/cached-json.ts'
import { asLine, LineReader } from '../../../packages/sdk/src/jsonrpc/line-reader.ts'
import { classify, parseJson } from '../../../packages/sdk/src/jsonrpc/parse.ts'
import { EventReader, encodeEvent } from '../../../packages/sdk/src/jsonrpc/sse.ts'
import { Random } from '../random.ts'

// Writes random messages as our transports do, reads them back, and compares. It takes the seed and how many to make.

const [seedText, trialsText] = process.argv.slice(2)
const seed = Number(seedText)
const trials = Number(trialsText)
let characters = 0

for (let trial = 0; trial < trials; trial++) {
  const random = new Random(seed + trial * 7919)
  const message = randomMessage(random)
  const text = 'method' in message ? JSON.stringify(message) : responseText(message)
  characters += text.length
  const problem = problemWith(message, text)
  if (problem === undefined) continue
  console.error(`${problem}: seed ${seed}, trial ${trial}\n${text.slice(0, 4_000)}`)
  process.exit(1)
}
console.log(JSON.stringify({ characters, cpuSeconds: process.cpuUsage().user / 1e6 }))

function problemWith(message: JsonRpcMessage, text: string): string | undefined {
  const line = asLine(text)
  if (/[\n\r\u2028\u2029]/.test(line)) return 'A line holds what ends one'
  const lines: unknown[] = []
  const reader = new LineReader({
    onLine: (one) => lines.push(found(one)),
    onTooLong: () => lines.push('too long'),
    onNotUtf8: () => lines.push('not UTF-8'),
  })
  reader.push(Buffer.from(`${line}\n`))
  if (!isDeepStrictEqual(lines, [message])) return 'As a line it is another message'
  const events: unknown[] = []
  const stream = new EventReader({ onEvent: ({ data }) => events.push(found(data)) })
  stream.push(Buffer.from(encodeEvent({ id: 's_1', event: 'message', data: text })))
  if (!isDeepStrictEqual(events, [message])) return 'As an event it is another message'
  if ('method' in message) return undefined
  return isDeepStrictEqual(found(textOfBody(responseBody(message))), message)
    ? undefined
    : 'As a body it is another message'
}

function found(text: string): unknown {
  const classified = classify(parseJson(text))
  return classified.kind === 'invalid' ? classified.error : classified.message
}

function randomMessage(random: Random): JsonRpcMessage {
  const id = random.pick([1, 0, -7, Number.MAX_SAFE_INTEGER, '', 'a', 'é😀', '\u2028', 'i'.repeat(256)])
  const params = { ...randomObject(random, 3), name: random.pick(['x', 'é', '\0', '__proto__']) }
  switch (random.between(0, 4)) {
    case 0:
      return { jsonrpc: '2.0', id, method: 'tools/call', params }
    case 1:
      return { jsonrpc: '2.0', method: 'notifications/message', params }
    case 2:
      return {
        jsonrpc: '2.0',
        id,
        error: { code: -32603, message: randomText(random), data: randomValue(random, 3) },
      }
    case 3:
      return {
        jsonrpc: '2.0',
        id,
        result: {
          tools: cacheJson(Array.from({ length: random.between(0, 12) }, () => randomObject(random, 2))),
        },
      }
    default:
      return { jsonrpc: '2.0', id, result: randomObject(random, 4) }
  }
}

function randomObject(random: Random, depth: number): JsonObject {
  const object: JsonObject = {}
  for (let left = random.between(0, 4); left > 0; left--) {
    // Defined, so that `__proto__` is a member like any other.
    Object.defineProperty(object, randomText(random), {
      value: randomValue(random, depth - 1),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return object
}

function randomValue(random: Random, depth: number): unknown {
  const kind = random.between(0, depth > 0 ? 6 : 4)
  if (kind === 0) return random.pick([null, true, false])
  if (kind === 1) return random.pick([0, 1, -1.5, 1e308, 5e-324, 2 ** 53, 0.1 + 0.2])
  if (kind === 2) return (random.fraction() - 0.5) * 10 ** random.between(-20, 20)
  if (kind <= 4) return randomText(random)
  if (kind === 5) return randomObject(random, depth)
  return Array.from({ length: random.between(0, 10) }, () => randomValue(random, depth - 1))
}

function randomText(random: Random): string {
  let text = ''
  for (let left = random.between(0, 6); left > 0; left--) {
    text += random.pick([
      ...([
        'a',
        'data: ',
        '\n',
        '\r\n',
        '\r',
        '\u2028',
        '\u2029',
        '\0',
        '\u001f',
        '\u007f',
        '\u0085',
      ] as const),
      ...[
        '"',
        '\\',
        ':',
        '{"a":1}',
        ',',
        '\ud800',
        '\udfff',
        '😀',
        'é',
        '\uFEFF',
        '\uFFFF',
        '__proto__',
        'toJSON',
        '1',
      ],
      String.fromCharCode(random.between(0, 0xffff)),
    ])
  }
  return text
}
