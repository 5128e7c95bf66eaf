import { expect } from 'vitest'
import type { Offer } from '../offer.ts'
import { type Case, calling, does, expectRefusal, failureOf, given, textOf } from './case.ts'

const scripts = {
  'accents and umlauts': 'Crème brûlée, Ærøskøbing, Ñandú, Straße, Łódź',
  'writing from right to left': 'שלום עולם، مرحبا بالعالم',
  'Chinese, Japanese and Korean': '你好，世界。こんにちは世界。안녕하세요 세계',
  'emoji of several code points': '👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇳🇴',
  'line ends of every kind': 'a\nb\r\nc\rd\u2028e\u2029f\u0085g',
  'quotes, backslashes and control characters': '"\\"\'\\\\ \t \b \f \u0001 \u007f </script> %s',
  'text that looks like the wire': 'data: {"jsonrpc":"2.0"}\n\nevent: message\nid: 1\n\n',
} as const

/** Listing and calling tools. */
export function toolCases(offer: Offer): Case[] {
  return [
    does('lists tools whose input is an object', async (bench) => {
      const tools = await (await bench.able()).tools()
      const names = tools.map(({ name }) => name)
      expect(names).toEqual(expect.arrayContaining([...offer.tools]))
      if (offer.onlyTheseTools) expect(names).toHaveLength(offer.tools.length)
      expect(new Set(names).size).toBe(names.length)
      for (const { inputSchema } of tools) expect(inputSchema).toMatchObject({ type: 'object' })
    }),
    ...given(offer.described, ({ tool, title, description, annotations, required }) => [
      does('gets the description and annotations of a tool', async (bench) => {
        const tools = await (await bench.able()).tools()
        expect(tools.find(({ name }) => name === tool)).toMatchObject({
          description: expect.stringContaining(description),
          ...(title !== undefined && bench.revision >= '2025-06-18' && { title }),
          ...(annotations && bench.revision >= '2025-03-26' && { annotations }),
          ...(required && { inputSchema: { required } }),
        })
      }),
    ]),
    ...offer.contents.map(({ kind, call, content }) =>
      does(`gets ${kind}`, async (bench) => {
        const result = await calling(await bench.able(), call)
        expect(result.isError ?? false).toBe(false)
        expect(result.content).toHaveLength(content.length)
        expect(result.content).toMatchObject(content)
      }),
    ),
    ...given(offer.echo, echoCases),
    ...given(offer.json, ({ tool }) => [
      does('sends and gets numbers, lists and objects unchanged', async (bench) => {
        const value = {
          numbers: [0, -1, 1.5, 1e21, Number.MAX_SAFE_INTEGER],
          nothing: null,
          both: [true, false],
          empty: [{}, [], ''],
          deep: { a: { b: { c: { d: [[[['e']]]] } } } },
          'a key with "quotes" and ünïcode': 1,
        }
        const result = await (await bench.able()).call(tool, { value })
        expect(JSON.parse(textOf(result))).toEqual(value)
      }),
    ]),
    ...given(offer.structured, ({ call, value, schema, inText }) => [
      does('gets a structured result', async (bench) => {
        expect(await calling(await bench.able(), call)).toMatchObject({ structuredContent: value })
      }),
      ...(inText
        ? [
            does('gets the same as text, for older revisions', async (bench) => {
              expect(JSON.parse(textOf(await calling(await bench.able(), call)))).toEqual(value)
            }),
          ]
        : []),
      does('gets the schema of a structured result', async (bench) => {
        const tools = await (await bench.able()).tools()
        expect(tools.find(({ name }) => name === call.tool)?.outputSchema).toMatchObject(schema)
      }),
    ]),
    ...given(offer.fails, ({ call, text }) => [
      does("sees a tool's failure as a result", async (bench) => {
        const result = await calling(await bench.able(), call)
        expect(result).toMatchObject({ isError: true })
        expect(textOf(result)).toContain(text)
      }),
    ]),
    ...given(offer.throws, ({ call, refusal }) => [
      does('gets the failure of a handler that threw', async (bench) => {
        await expectRefusal(bench, refusal, calling(await bench.able(), call))
      }),
    ]),
    ...given(offer.unknownTool, (refusal) => [
      does('gets an error for an unknown tool, and for a name of an object prototype', async (bench) => {
        const client = await bench.able()
        await expectRefusal(bench, refusal, client.call('no_such_tool'))
        await expectRefusal(bench, refusal, client.call('constructor'))
      }),
    ]),
    ...given(offer.badArguments, ({ calls, refusal }) =>
      calls.map(({ tool, args }) =>
        does(
          `is refused ${args ? `the arguments ${JSON.stringify(args)}` : 'no arguments'} for ${tool}`,
          async (bench) => {
            const client = await bench.able()
            await expectRefusal(bench, refusal, client.call(tool, args))
          },
        ),
      ),
    ),
    ...given(offer.meta, ({ call, sends }) => [
      does("sends a request's _meta", async (bench) => {
        const meta = { 'example.org/trace': { id: 'ä1', hops: [1, 2] } }
        const result = await (await bench.able()).call(call.tool, call.args, { meta })
        expect(JSON.parse(textOf(result))).toMatchObject(meta)
      }),
      ...given(sends, (expected) => [
        does("gets a result's _meta", async (bench) => {
          expect(await calling(await bench.able(), call)).toMatchObject({ _meta: expected })
        }),
      ]),
    ]),
    ...given(offer.mirrored, ({ tool, reply }) => [
      does('sends arguments in headers too, thirty at once', async (bench) => {
        const client = await bench.able()
        // Which argument it is, a client knows from the list.
        await client.tools()
        const plain = Array.from({ length: 25 }, (_, at) => `region-${at}`)
        const regions = [...plain, 'Ærø, Bodø', '北欧', ' padded ', '=?base64?no?=', '']
        const answers = await Promise.all(regions.map((region) => client.call(tool, { region })))
        expect(answers.map(textOf)).toEqual(regions.map(reply))
      }),
    ]),
    ...given(offer.pages, ({ method, refusesBadCursor }) => [
      does(`gets ${method} page by page, without gaps and repetitions`, async (bench) => {
        const client = await bench.able()
        const names: string[] = []
        let cursor: string | undefined
        let pages = 0
        do {
          const page = await client.page(method, cursor)
          names.push(...page.names)
          cursor = page.nextCursor
          pages++
        } while (cursor !== undefined && pages < 100)
        expect(pages).toBeGreaterThan(1)
        expect(new Set(names).size).toBe(names.length)
        if (method === 'tools/list') expect(names).toEqual((await client.tools()).map(({ name }) => name))
      }),
      ...(refusesBadCursor
        ? [
            does('gets an error for an unknown cursor', async (bench) => {
              const failed = await failureOf(bench, (await bench.able()).page(method, 'no cursor at all'))
              expect(failed).toMatchObject({ kind: 'rpc', code: -32602 })
            }),
          ]
        : []),
    ]),
  ]
}

function echoCases({ tool, args, reply, maxChars = 1_000_000 }: NonNullable<Offer['echo']>): Case[] {
  return [
    ...Object.entries(scripts).map(([kind, text]) =>
      does(`sends and gets ${kind} unchanged`, async (bench) => {
        expect(textOf(await (await bench.able()).call(tool, args(text)))).toBe(reply(text))
      }),
    ),
    does('sends and gets an empty text', async (bench) => {
      expect(textOf(await (await bench.able()).call(tool, args('')))).toBe(reply(''))
    }),
    does(`sends and gets ${maxChars} characters`, async (bench) => {
      const text = 'Jackfrucht '.repeat(maxChars / 10).slice(0, maxChars)
      const echoed = textOf(await (await bench.able()).call(tool, args(text)))
      expect(echoed.length).toBe(reply(text).length)
      expect(echoed === reply(text)).toBe(true)
    }),
    does('separates thirty concurrent calls', async (bench) => {
      const client = await bench.able()
      const texts = Array.from({ length: 30 }, (_, at) => `call ${at}`)
      const answers = await Promise.all(texts.map((text) => client.call(tool, args(text))))
      expect(answers.map(textOf)).toEqual(texts.map(reply))
    }),
  ]
}
