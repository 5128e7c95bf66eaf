import { DatabaseSync } from 'node:sqlite'
import type { CallToolResult, ContentBlock, SamplingMessage } from '@jackfield/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createResultTable, resultMigration } from '../../src/log/store/result-table.ts'
import { createConversation } from '../../src/models/agent/index.ts'
import { createResults, valuesAt } from '../../src/models/results.ts'
import type { Results } from '../../src/types/index.ts'
import { fakeHost, scriptedModel, text, textReply, uses } from '../agent/host.ts'
import { eraHttp } from '../fixtures/era-http.ts'
import { scripted, started } from '../fixtures/hosts.ts'

interface ResultsWithRows {
  results: Results
  count: () => number
}

function memoryResults(
  bounds?: { characters: number; results: number; ageMs: number },
  now?: () => number,
): ResultsWithRows {
  const database = new DatabaseSync(':memory:')
  database.exec(resultMigration)
  return {
    results: createResults(createResultTable(database, bounds, now), undefined, now),
    count: () => Number(database.prepare('SELECT COUNT(*) AS n FROM results').get()?.['n']),
  }
}

const textOf = (blocks: readonly ContentBlock[]): string =>
  blocks.map((block) => (block.type === 'text' ? block.text : block.type)).join('\n')
const idIn = (blocks: readonly ContentBlock[]): string => /id "([^"]+)"/.exec(textOf(blocks))?.[1] ?? ''

/** More tokens than any tokenizer makes of it: three bytes each. */
const tokens = (value: unknown): number => Buffer.byteLength(JSON.stringify(value)) / 3

const shapes: [string, (size: number) => CallToolResult][] = [
  ['text', (size) => text('word '.repeat(size / 5))],
  ['text of another script', (size) => text('漢字と仮名'.repeat(size / 5))],
  [
    'structured content',
    (size) => ({ content: [], structuredContent: { rows: Array(size / 10).fill('abcdefg') } }),
  ],
  [
    'text and the same structured',
    (size) => {
      const structuredContent = { rows: Array(size / 10).fill('abcdefg') }
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
    },
  ],
  [
    'a resource',
    (size) => ({ content: [{ type: 'resource', resource: { uri: 'a:b', text: 'x'.repeat(size) } }] }),
  ],
  [
    'a blob',
    (size) => ({ content: [{ type: 'resource', resource: { uri: 'a:b', blob: 'A'.repeat(size) } }] }),
  ],
  ['sound', (size) => ({ content: [{ type: 'audio', data: 'A'.repeat(size), mimeType: 'audio/wav' }] })],
  ['many small texts', (size) => ({ content: Array(size / 10).fill({ type: 'text', text: 'abcdefghij' }) })],
  [
    'many links',
    (size) => ({
      content: Array(size / 100).fill({ type: 'resource_link', uri: `a:${'b'.repeat(60)}`, name: 'c' }),
    }),
  ],
  [
    'a link with much to say',
    (size) => ({
      content: [{ type: 'resource_link', uri: 'a:b', name: 'c', description: 'd'.repeat(size) }],
    }),
  ],
]

describe('a result of five million characters', () => {
  it.for(shapes)('costs a model at most two thousand tokens: %s', ([, made]) => {
    const { results } = memoryResults()
    const result = made(5_000_000)
    const blocks = results.fit(result, { characters: 20_000 })
    expect(tokens(blocks)).toBeLessThan(2_000)
    expect(textOf(blocks)).toMatch(/\[cut: \d+ of \d+ characters are shown here/)
    expect(results.get(idIn(blocks))?.result).toEqual(result)
  })

  it('can be read in full, in parts', () => {
    const { results } = memoryResults()
    const whole = Array.from({ length: 500_000 }, (_, n) => `line ${n} 𝄞`).join('\n')
    const id = idIn(results.fit(text(whole), { characters: 20_000 }))
    const parts: string[] = []
    let from: number | undefined = 0
    while (from !== undefined) {
      const part: ReturnType<Results['read']> = results.read(id, { from, characters: 1_000_000 })
      parts.push(part.text)
      from = part.next
    }
    expect(parts.join('')).toBe(whole)
    expect(parts.length).toBeGreaterThan(5)
  })
})

describe("the model's version of a result", () => {
  it('is unchanged if it is short enough', () => {
    const { results, count } = memoryResults()
    const result: CallToolResult = {
      content: [
        { type: 'text', text: 'x'.repeat(20_000) },
        { type: 'image', data: 'A'.repeat(1_000_000), mimeType: 'image/png' },
      ],
    }
    expect(results.fit(result, { characters: 20_000 })).toEqual(result.content)
    expect(count()).toBe(0)
  })

  it('has every image, recording and document that a provider accepts; of larger ones type and size', () => {
    const { results } = memoryResults()
    const media = (data: string): ContentBlock[] => [
      { type: 'image', data, mimeType: 'image/png' },
      { type: 'audio', data, mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: data } },
    ]
    const fitting = media('A'.repeat(1_000_000))
    expect(results.fit({ content: fitting }, { characters: 20_000 })).toEqual(fitting)
    const shown = results.fit({ content: media('A'.repeat(8_000_000)) }, { characters: 20_000 })
    for (const what of ['an image', 'audio', 'a file'])
      expect(textOf(shown)).toContain(`[${what} of 6.0 MB (`)
    expect(textOf(shown)).not.toContain('AAAA')
  })

  it('describes the structure of JSON', () => {
    const { results } = memoryResults()
    const structuredContent = { items: Array(9_000).fill(1), note: 'short', page: { next: 2 } }
    const blocks = results.fit({ content: [], structuredContent }, { characters: 5_000 })
    expect(textOf(blocks)).toContain(
      'It is JSON: .items: list of 9000, .note: text of 5, .page: object of 1.',
    )
  })

  it('ends at a whole character, within the limit', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 50, maxLength: 400 }),
        fc.integer({ min: 1, max: 40 }),
        (given, characters) => {
          const [first] = memoryResults().results.fit(text(given), { characters })
          const shown = first?.type === 'text' && !first.text.startsWith('[cut:') ? first.text : ''
          expect(given.startsWith(shown)).toBe(true)
          expect(shown.isWellFormed()).toBe(true)
          expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(characters)
        },
      ),
    )
  })

  it('can be continued only in the conversation', async () => {
    const whole = JSON.stringify({
      items: Array.from({ length: 5_000 }, (_, n) => ({ n, name: `item ${n}` })),
    })
    const host = fakeHost({ shop__dump: () => text(whole) })
    const lastText = (messages: readonly SamplingMessage[]): string => JSON.stringify(messages.at(-1))
    let id = ''
    const model = scriptedModel(
      uses('', ['shop__dump']),
      (request) => {
        id = /id \\+"([^"\\]+)/.exec(lastText(request.messages))?.[1] ?? ''
        return uses(
          '',
          ['read_result', { id, path: '.items[4321].name' }],
          ['read_result', { id, from: 100, characters: 20 }],
          ['read_result', { id, path: '.nothing' }],
          ['read_resource', { server: 'jackfield', uri: `jackfield://results/${id}` }],
        )
      },
      textReply('ok'),
    )
    const conversation = createConversation({ host, model })
    await conversation.say('Dump')
    const seen = lastText(model.requests[2]?.messages ?? [])
    expect(seen).toContain('item 4321')
    expect(seen).toContain(`[characters 100 to 120 of ${whole.length}; go on with \\"from\\": 120]`)
    expect(seen).toContain(`[characters 0 to 5000 of ${whole.length}`)
    expect(seen).toContain('there is no \\"nothing\\". There are: items')

    const other = scriptedModel(uses('', ['read_result', { id }]), textReply('ok'))
    await createConversation({ host, model: other }).say('Read it')
    expect(lastText(other.requests[1]?.messages ?? [])).toContain('There is no result')
  })

  it('over a real connection may be larger than four million bytes', async () => {
    const server = await eraHttp('2025-11-25')
    const whole = 'y'.repeat(5_000_000)
    server.intercept = (message, response) => {
      if (message.method !== 'tools/call') return false
      const result = { content: [{ type: 'text', text: whole }] }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
      return true
    }
    const host = await started({
      servers: { s: { url: server.url } },
      rules: [{ id: 'all', verdict: 'allow' }],
    })
    const model = { ...scriptedModel(uses('', ['s__hello']), textReply('ok')), ...{ id: scripted('m').id } }
    const conversation = createConversation({ host, model })
    await conversation.say('Call it')
    const blocks = model.requests[1]?.messages.at(-1)
    expect(tokens(blocks)).toBeLessThan(2_000)
    const id = /id \\+"([^"\\]+)/.exec(JSON.stringify(blocks))?.[1] ?? ''
    expect(host.results.read(`jackfield://results/${id}`)).toMatchObject({ total: whole.length, text: whole })
    expect(host.results.get(id)).toMatchObject({
      server: 's',
      tool: 'hello',
      conversation: conversation.id,
      activity: expect.any(Number),
    })
  })
})

describe('a stored result and forks of its conversation', () => {
  it('is readable by every fork, and by no other conversation', async () => {
    const server = await eraHttp('2025-11-25')
    const whole = `${'y'.repeat(50_000)} the end`
    server.intercept = (message, response) => {
      if (message.method !== 'tools/call') return false
      const result = { content: [{ type: 'text', text: whole }] }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
      return true
    }
    const host = await started({
      servers: { s: { url: server.url } },
      rules: [{ id: 'all', verdict: 'allow' }],
    })
    const model = scriptedModel(uses('', ['s__hello']), textReply('ok'))
    const trunk = createConversation({ host, model })
    await trunk.say('Call it')
    const id = idIn([{ type: 'text', text: JSON.stringify(trunk.messages).replaceAll('\\"', '"') }])
    const reading = async (resume?: string): Promise<string> => {
      const reader = scriptedModel(uses('', ['read_result', { id, from: 50_000 }]), textReply('ok'))
      const conversation = createConversation({
        host,
        model: reader,
        ...(resume !== undefined && { resume }),
      })
      await conversation.say('Read the rest')
      return JSON.stringify(reader.requests[1]?.messages.at(-1))
    }
    const fork = host.conversations.fork(trunk.id)
    expect(await reading(fork)).toContain('the end')
    const forkOfFork = host.conversations.fork(fork)
    expect(await reading(forkOfFork)).toContain('the end')
    expect(await reading()).toContain('There is no result')

    const later = scriptedModel(uses('', ['s__hello']), textReply('ok'))
    const grown = createConversation({ host, model: later, resume: forkOfFork })
    await grown.say('Call it again')
    const lastMessage = JSON.stringify(later.requests[1]?.messages.at(-1)).replaceAll('\\"', '"')
    const own = idIn([{ type: 'text', text: lastMessage }])
    expect(host.results.read(own, {}, { conversation: forkOfFork }).total).toBe(whole.length)
    expect(() => host.results.read(own, {}, { conversation: trunk.id })).toThrow('There is no result')
  })
})

describe('a path', () => {
  const document = {
    items: [{ name: 'a', 'odd key': 1 }, { name: 'b' }, { name: 'c' }],
    'a/b': { '~': 'tilde' },
    text: 'four',
  }
  it.for<[string, unknown[]]>([
    ['', [document]],
    ['.', [document]],
    ['.text', ['four']],
    ['.items[0].name', ['a']],
    ['.items[-1].name', ['c']],
    ['.items[].name', ['a', 'b', 'c']],
    ['.items[1:]', [[{ name: 'b' }, { name: 'c' }]]],
    ['.items[:1][0]["odd key"]', [1]],
    ['.["a/b"]["~"]', ['tilde']],
    ['.items | length', [3]],
    ['.items[] | keys', [['name', 'odd key'], ['name'], ['name']]],
    ['.items[].name | length', [1, 1, 1]],
    ['. | keys', [['items', 'a/b', 'text']]],
    ['/items/1/name', ['b']],
    ['/a~1b/~0', ['tilde']],
  ])('%s', ([path, expected]) => {
    expect(valuesAt(document, path)).toEqual(expected)
  })

  it.for([
    ['.nothing', 'There are: items, a/b, text'],
    ['.items.name', 'a list has no member "name"'],
    ['.items[3]', 'no index 3 in a list of 3'],
    ['.text[0]', 'expected a list, found a string'],
    ['/items/x', 'not an index of a list'],
    ['.items[', 'cannot be read from "["'],
    ['.items | sort', 'cannot be read from "sort"'],
    ['.constructor', 'no "constructor"'],
    ['.text | keys', 'has no keys'],
    ['.["\\x"]', 'is not a string as JSON has them'],
    ['.["a\u000fb"]', 'is not a string as JSON has them'],
  ])('%s is rejected, with the existing members', ([path, why]) => {
    expect(() => valuesAt(document, path ?? '')).toThrow(why)
  })

  it('finds every value of any document', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const walk = (at: unknown, pointer: string, path: string): void => {
          expect(valuesAt(value, pointer)).toEqual([at])
          expect(valuesAt(value, path === '' ? '.' : path)).toEqual([at])
          if (typeof at !== 'object' || at === null) return
          for (const [key, member] of Object.entries(at)) {
            const step = Array.isArray(at) ? `[${key}]` : `[${JSON.stringify(key)}]`
            walk(member, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, `${path}${step}`)
          }
        }
        walk(value, '', '')
      }),
    )
  })

  it('is evaluated quickly for any text', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('.', '[', ']', '"', '\\', '|', ' ', 'a', '1', ':'),
          maxLength: 5_000,
        }),
        (path) => {
          try {
            valuesAt(document, path)
          } catch (error) {
            expect(String(error)).toContain('The path does not match')
          }
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('stored results', () => {
  it('make room for newer ones, by number, size and age', () => {
    let now = 0
    const { results, count } = memoryResults({ characters: 10_000, results: 5, ageMs: 1_000 }, () => now)
    const keep = (size: number): string => idIn(results.fit(text('z'.repeat(size)), { characters: 100 }))
    const ids = Array.from({ length: 8 }, () => keep(500))
    expect(count()).toBe(5)
    expect(results.get(ids[0] ?? '')).toBeUndefined()
    expect(results.get(ids[7] ?? '')?.result.content).toHaveLength(1)
    keep(9_000)
    expect(count()).toBe(2)
    now = 1_500
    const last = keep(500)
    expect(count()).toBe(1)
    now = 3_000
    expect(results.get(last)).toBeUndefined()
    expect(() => results.read(last)).toThrow('Call the tool again')
  })
})
