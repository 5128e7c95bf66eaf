import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asLine, LineReader } from '../../src/jsonrpc/line-reader.ts'
import { classify, parseJson } from '../../src/jsonrpc/parse.ts'
import { PendingRequests } from '../../src/jsonrpc/pending-requests.ts'
import { EventReader, encodeEvent, keepAlive, type ServerSentEvent } from '../../src/jsonrpc/sse.ts'

const encoder = new TextEncoder()

/** Cuts bytes at arbitrary places. */
function cut(bytes: Uint8Array, places: number[]): Uint8Array[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...at, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : at[i - 1], end))
}

describe('newline framing', () => {
  it('returns the same lines for any chunk boundaries', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => JSON.stringify(text)),
          { maxLength: 8 },
        ),
        fc.array(fc.nat(), { maxLength: 20 }),
        (messages, places) => {
          const lines: string[] = []
          const reader = new LineReader({
            onLine: (text) => lines.push(text),
            onTooLong: () => {},
            onNotUtf8: () => {},
          })
          for (const chunk of cut(encoder.encode(messages.map((text) => `${text}\n`).join('')), places))
            reader.push(chunk)
          expect(lines).toEqual(messages)
        },
      ),
    )
  })

  it('skips a line over the limit once and delivers its neighbours', () => {
    const lines: string[] = []
    let tooLong = 0
    const reader = new LineReader({
      maxBytes: 10,
      onLine: (text) => lines.push(text),
      onTooLong: () => tooLong++,
      onNotUtf8: () => {},
    })
    reader.push(encoder.encode(`first\n${'x'.repeat(7)}`))
    reader.push(encoder.encode(`${'x'.repeat(7)}`))
    reader.push(encoder.encode('xxx\nlast\n'))
    expect(lines).toEqual(['first', 'last'])
    expect(tooLong).toBe(1)
  })

  it('reports the kind of each line, for any neighbours and chunk boundaries', () => {
    const kinds = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 4 }).map((text) => ({ bytes: encoder.encode(`"${text}"`) })),
      fc.constant({ bytes: encoder.encode(`"${'m'.repeat(38)}"`) }),
      fc.constant({ bytes: encoder.encode(`"${'m'.repeat(39)}"`) }),
      fc.constant({ bytes: Uint8Array.of(0x22, 0xc3, 0x22) }),
      fc.constant({ bytes: new Uint8Array() }),
    )
    const lines = fc.array(fc.tuple(kinds, fc.constantFrom('\n', '\r\n')), { maxLength: 8 })
    fc.assert(
      fc.property(lines, fc.array(fc.nat(), { maxLength: 6 }), (all, places) => {
        const received: string[] = []
        const reader = new LineReader({
          maxBytes: 40,
          onLine: (text) => received.push(text),
          onTooLong: () => received.push('too long'),
          onNotUtf8: (bytes) => received.push(`not UTF-8: ${bytes}`),
        })
        const sent = all.flatMap(([{ bytes }, end]) => [...bytes, ...encoder.encode(end)])
        for (const chunk of cut(Uint8Array.from(sent), places)) reader.push(chunk)
        const expected = all.flatMap(([{ bytes }, end]) => {
          if (bytes.length + end.length > 41) return ['too long']
          if (bytes[1] === 0xc3 && bytes[2] === 0x22) return [`not UTF-8: ${bytes}`]
          return bytes.length === 0 ? [] : [new TextDecoder().decode(bytes)]
        })
        expect(received).toEqual(expected)
      }),
    )
  })

  it('delivers no line that is not UTF-8, and reports its position', () => {
    const lines: (string | Uint8Array)[] = []
    const reader = new LineReader({
      onLine: (text) => lines.push(text),
      onTooLong: () => {},
      onNotUtf8: (bytes) => lines.push(bytes),
    })
    const broken = [0x22, 0xc0, 0xaf, 0x22]
    reader.push(Uint8Array.from([...encoder.encode('"a"\n'), ...broken, ...encoder.encode('\n"é"')]))
    reader.end()
    expect(lines).toEqual(['"a"', Uint8Array.from(broken), '"é"'])
  })

  it('accepts CRLF, skips empty lines and delivers an unfinished last line at the end', () => {
    const lines: string[] = []
    const reader = new LineReader({
      onLine: (text) => lines.push(text),
      onTooLong: () => {},
      onNotUtf8: () => {},
    })
    reader.push(encoder.encode('a\r\n\r\n\nb'))
    reader.end()
    expect(lines).toEqual(['a', 'b'])
  })
})

describe('event-stream framing', () => {
  const read = (chunks: Uint8Array[], maxBytes?: number): { events: ServerSentEvent[]; tooLong: number } => {
    const events: ServerSentEvent[] = []
    let tooLong = 0
    const reader = new EventReader({
      ...(maxBytes === undefined ? {} : { maxBytes }),
      onEvent: (event) => events.push(event),
      onTooLong: () => tooLong++,
      onNotUtf8: () => {},
    })
    for (const chunk of chunks) reader.push(chunk)
    reader.end()
    return { events, tooLong }
  }

  it('reads what it writes, for any chunk boundaries', () => {
    const text = fc.string({ unit: 'grapheme' }).map((value) => JSON.stringify(value))
    fc.assert(
      fc.property(
        fc.array(text, { maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (messages, places) => {
          const wire = messages
            .map((data, i) => encodeEvent({ id: `s_${i}`, event: 'message', data }))
            .join(keepAlive)
          const { events } = read(cut(encoder.encode(wire), places))
          expect(events).toEqual(messages.map((data, i) => ({ id: `s_${i}`, event: 'message', data })))
        },
      ),
    )
  })

  it('joins data lines, ignores comments and unknown fields, and drops an unfinished event', () => {
    const { events } = read([encoder.encode('\uFEFF: hi\ndata: a\ndata:b\nfoo: bar\n\ndata: never')])
    expect(events).toEqual([{ data: 'a\nb' }])
  })

  it('delivers an event that only sets an id and a retry time', () => {
    const { events } = read([encoder.encode(encodeEvent({ id: 's_0', retry: 500 }))])
    expect(events).toEqual([{ id: 's_0', retry: 500, data: '' }])
  })

  it('reports an event over the limit', () => {
    const { events, tooLong } = read([encoder.encode(`data: ${'x'.repeat(50)}\n\ndata: ok\n\n`)], 20)
    expect(tooLong).toBe(1)
    expect(events).toEqual([{ data: 'ok' }])
  })
})

describe('an event stream that is not UTF-8', () => {
  it('has no data for the invalid event, but its position, and reports it', () => {
    const events: ServerSentEvent[] = []
    let broken = 0
    const reader = new EventReader({ onEvent: (event) => events.push(event), onNotUtf8: () => broken++ })
    for (const text of ['data: a\n\nid: s_1\ndata: {"x":\ndata: "', '"}\n\n: ', '\ndata: b\n\n']) {
      reader.push(encoder.encode(text))
      reader.push(Uint8Array.of(0xff))
    }
    expect(events).toEqual([{ data: 'a' }, { id: 's_1', data: '' }, { data: 'b' }])
    expect(broken).toBe(1)
  })
})

describe('parsing', () => {
  it.each([
    ['{', /not valid JSON/],
    ['', /not valid JSON/],
    ['{"a":1}{"b":2}', /not valid JSON/],
    [`${'['.repeat(65)}${']'.repeat(65)}`, /nests deeper than 64/],
    [`{"a":${'['.repeat(100_000)}`, /nests deeper than 64/],
    ['1e400', /a number is too large/],
    ['{"a":[1,{"b":-1e309}]}', /a number is too large/],
  ])('rejects %.20s with -32700', (text, reason) => {
    expect(() => parseJson(text)).toThrow(
      expect.objectContaining({ code: -32700, message: expect.stringMatching(reason) }),
    )
  })

  it('accepts nesting up to the limit, in lists and objects alike', () => {
    const levels = fc.array(fc.constantFrom('list', 'object', 'wide'), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(levels, fc.integer({ min: 1, max: 12 }), (kinds, depth) => {
        const nested = kinds.reduceRight<unknown>((inner, kind) => {
          if (kind === 'list') return [inner]
          return kind === 'object' ? { in: inner } : { a: 1, b: '[{:', in: inner, c: [] }
        }, {})
        const deepest = kinds.length + 1
        const text = JSON.stringify(nested)
        if (deepest <= depth) expect(parseJson(text, { depth })).toEqual(nested)
        else expect(() => parseJson(text, { depth })).toThrow(/nests deeper than/)
      }),
    )
  })

  it('does not count brackets inside strings', () => {
    const text = JSON.stringify({ text: '[{'.repeat(100), escaped: '\\"[{'.repeat(100) })
    expect(parseJson(text)).toEqual(JSON.parse(text))
  })

  it.each([
    [[], undefined],
    [null, undefined],
    [{ jsonrpc: '1.0', id: 1, method: 'x' }, 1],
    [{ jsonrpc: '2.0', id: null, method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: 1.5, method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: {}, method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: 'i'.repeat(257), method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: 1, method: 7 }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'x', params: [] }, 1],
    [{ jsonrpc: '2.0', id: 1 }, 1],
    [{ jsonrpc: '2.0', id: 1, result: {}, error: { code: 1, message: '' } }, 1],
    [{ jsonrpc: '2.0', id: 1, error: { code: 1.5, message: '' } }, 1],
    [{ jsonrpc: '2.0', id: 1, result: 'text' }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'x', result: {} }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'x\ud800' }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'x', params: { name: '\udc00x' } }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'x', params: { uri: 'file:///\ud800' } }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'x', params: { ref: { name: '\ud800' } } }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'x', params: { ref: { uri: '\ud800' } } }, 1],
  ])('rejects %j and keeps a readable id', (value, id) => {
    expect(classify(value)).toMatchObject({ kind: 'invalid', id, error: { code: -32600 } })
  })

  it('distinguishes requests, notifications and responses', () => {
    expect(classify({ jsonrpc: '2.0', id: 'a', method: 'x' }).kind).toBe('request')
    expect(classify({ jsonrpc: '2.0', method: 'x', params: {} }).kind).toBe('notification')
    expect(classify({ jsonrpc: '2.0', id: 1, result: {} }).kind).toBe('response')
    expect(classify({ jsonrpc: '2.0', error: { code: -32700, message: 'Parse error' } }).kind).toBe(
      'response',
    )
    expect(classify({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } }).kind).toBe(
      'response',
    )
  })
})

describe('pending requests', () => {
  it('distinguish the id 1 from the id "1"', async () => {
    const pending = new PendingRequests()
    const answer = pending.open(1)
    expect(pending.settle({ jsonrpc: '2.0', id: '1', result: {} })).toBe(false)
    expect(pending.settle({ jsonrpc: '2.0', id: 1, result: { ok: true } })).toBe(true)
    await expect(answer).resolves.toMatchObject({ result: { ok: true } })
    expect(pending.settle({ jsonrpc: '2.0', id: 1, result: {} })).toBe(false)
  })

  it('are all rejected when the connection ends', async () => {
    const pending = new PendingRequests()
    const answers = [pending.open(1), pending.open('a')]
    pending.rejectAll(new Error('gone'))
    for (const answer of answers) await expect(answer).rejects.toThrow('gone')
    expect(pending.settle({ jsonrpc: '2.0', id: 1, result: {} })).toBe(false)
  })
})

describe('a message as a line', () => {
  it('is one line for readers that end lines at more than a newline, and the same message', async () => {
    const message = { text: 'a\u2028b\u2029c\r\nd\u0085e' }
    const line = asLine(JSON.stringify(message))
    const lines: string[] = []
    for await (const one of createInterface({ input: Readable.from([`${line}\n`]) })) lines.push(one)
    expect(lines).toEqual([line])
    expect(JSON.parse(line)).toEqual(message)
  })
})
