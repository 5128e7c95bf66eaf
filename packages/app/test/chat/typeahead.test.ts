import type { LibraryEntry, LibraryPrompt } from '@jackfield/host'
import { channelPair, createHostClient } from '@jackfield/host/client'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { completionTarget, mentionsIn, typeahead } from '../../src/chat/typeahead.ts'

const prompt = (server: string, name: string, args: [string, boolean][] = []): LibraryPrompt => ({
  server,
  name: `${server}__${name}`,
  command: `${server}.${name}`,
  prompt: { name, title: `The ${name}`, arguments: args.map(([own, required]) => ({ name: own, required })) },
})

const prompts = [
  prompt('desk', 'review', [
    ['tone', false],
    ['letter', true],
  ]),
  prompt('shop', 'order'),
]
const entries: LibraryEntry[] = [
  {
    kind: 'resource',
    server: 'disk',
    resource: { uri: 'file:///notes/plan.md', name: 'plan', title: 'The plan' },
  },
  { kind: 'template', server: 'log', template: { uriTemplate: 'log://{day}/{level}', name: 'logs' } },
]
const asked: object[] = []
interface Asked {
  server?: string
  value?: string
}
/** What the host answers. */
const answers: Readonly<Record<string, (asked: Asked) => unknown>> = {
  'library.prompts': () => prompts,
  'library.search'(options) {
    asked.push(options)
    const matches = entries
      .filter((entry) => options.server === undefined || entry.server === options.server)
      .map((entry) => ({ entry, score: 1 }))
    return { matches, total: matches.length }
  },
  'library.complete'(field) {
    asked.push(field)
    return field.value === 'gone' ? null : { values: ['my letter', 'other'], more: true }
  },
}
const client = createHostClient({
  name: 'test',
  connect() {
    const [here, there] = channelPair()
    there.listen(
      (frame) => {
        const { hello, call, method, params } = JSON.parse(frame)
        const welcome = { host: 'test', version: '1', build: '1', isKnown: false }
        there.send(
          JSON.stringify(hello === undefined ? { call, result: answers[method]?.(params) } : { welcome }),
        )
      },
      () => {},
    )
    return here
  },
})
afterAll(() => client.close())
const servers = ['disk', 'log']
const texts = async (line: string): Promise<string[] | undefined> =>
  (await typeahead(line, client, servers))?.candidates.map(({ text }) => text)

describe('typing a prompt', () => {
  test('lists commands with hints, prefix matches first', async () => {
    expect(await texts('/')).toEqual(['/desk.review ', '/shop.order '])
    expect(await texts('/sh')).toEqual(['/shop.order '])
    expect(await texts('/Rev')).toEqual(['/desk.review '])
    const found = await typeahead('/desk', client, servers)
    expect(found).toEqual({
      from: 0,
      more: false,
      candidates: [{ text: '/desk.review ', about: 'The review  [tone=…] letter=…' }],
    })
    expect(await texts('//no command')).toBeUndefined()
  })

  test('lists missing arguments, required ones first', async () => {
    expect(await texts('/desk.review ')).toEqual(['letter=', 'tone='])
    expect(await texts('/desk.review letter=a t')).toEqual(['tone='])
    expect((await typeahead('/desk.review letter=a t', client, servers))?.from).toBe(22)
    expect(await texts('/no.such ')).toBeUndefined()
  })

  test('completes values with the arguments chosen so far, and quotes values with spaces', async () => {
    asked.length = 0
    const found = await typeahead('/desk.review tone=calm letter=m', client, servers)
    expect(asked).toEqual([
      {
        server: 'desk',
        of: { prompt: 'review' },
        argument: 'letter',
        value: 'm',
        chosen: { tone: 'calm' },
      },
    ])
    expect(found).toMatchObject({ from: 30, more: true })
    expect(found?.candidates.map(({ text }) => text)).toEqual(['"my letter"', 'other'])
    expect(await texts('/desk.review letter=gone')).toBeUndefined()
  })
})

describe('mentioning a resource', () => {
  test('lists servers and matches, or only those of a named server', async () => {
    expect(await texts('look at @l')).toEqual(['@log:', '@disk:file:///notes/plan.md', '@log:log://'])
    asked.length = 0
    expect(await texts('look at @disk:plan')).toEqual(['@disk:file:///notes/plan.md'])
    expect(asked).toEqual([{ query: 'plan', kinds: ['resource', 'template'], limit: 11, server: 'disk' }])
    expect(await texts('mail me@disk')).toBeUndefined()
  })

  test('is recognised in a sent message, without the punctuation after it', () => {
    const text =
      'Compare @disk:file:///a.md, @log:log://monday/error. And (@disk:file:///a.md) or @nobody:a://b, @disk:plain'
    expect(mentionsIn(text, servers)).toEqual([
      { server: 'disk', uri: 'file:///a.md' },
      { server: 'log', uri: 'log://monday/error' },
    ])
  })
})

test('a completion replaces an end of the line, for any input', async () => {
  const part = fc.constantFrom('/desk.review', ' ', '@', 'disk:', 'letter=', 'x', '"', '/', '\n', 'é')
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 8 }), async (parts) => {
      const line = parts.join('')
      const found = await typeahead(line, client, servers)
      expect(found === undefined).toBe(completionTarget(line, prompts) === undefined)
      if (found !== undefined) expect(found.from).toBeLessThanOrEqual(line.length)
    }),
  )
})
