import { audio, blob, defineServer, image, prompt, reply, resource, tool } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { call, request } from './support.ts'

const base = { name: 'shop', version: '1.0.0' }
const bytes = new Uint8Array([1, 2, 3, 255])
const circular: { name: string; self?: unknown } = { name: 'loop' }
circular.self = [circular]

describe('content helpers', () => {
  test('accept bytes or base64, with a MIME type', () => {
    expect(image(bytes, 'image/png')).toEqual({ type: 'image', data: 'AQID/w==', mimeType: 'image/png' })
    expect(audio('AQID/w==', 'audio/wav')).toEqual({ type: 'audio', data: 'AQID/w==', mimeType: 'audio/wav' })
    expect(blob('x:1', bytes, 'application/pdf')).toEqual({
      type: 'resource',
      resource: { uri: 'x:1', mimeType: 'application/pdf', blob: 'AQID/w==' },
    })
  })

  test('reject content that no client could show, naming the member', () => {
    expect(() => image('data:image/png;base64,AQID', 'image/png')).toThrow('"data" is a data: URL')
    expect(() => audio('no base64!', 'audio/wav')).toThrow('"data" is not base64')
    // @ts-expect-error a MIME type is needed
    expect(() => image(bytes)).toThrow('"mimeType" is missing')
    expect(() => image(bytes, 'png')).toThrow('"mimeType" is not a media type such as image/png: "png"')
    // @ts-expect-error a URI is needed
    expect(() => blob(undefined, bytes, 'image/png')).toThrow('in "resource", "uri" is missing')
  })

  test('can be returned by handlers', async () => {
    const server = defineServer({
      ...base,
      tools: { draw: tool({ run: () => [image(bytes, 'image/png'), blob('x:1', bytes, 'image/png')] }) },
      resources: {
        r: resource({ uri: 'x:1', read: () => blob('x:1', bytes, 'image/png').resource }),
      },
    })
    const client = await connect(server)
    onTestFinished(() => client.close())
    expect(await client.call('draw')).toMatchObject({ content: [{ type: 'image' }, { type: 'resource' }] })
    expect((await client.read('x:1')).contents).toEqual([
      { uri: 'x:1', mimeType: 'image/png', blob: 'AQID/w==' },
    ])
  })
})

test('strings among content blocks are text blocks', async () => {
  const server = defineServer({
    ...base,
    tools: {
      list: tool({ run: () => ['a', image(bytes, 'image/png'), 'b'] }),
      reply: tool({ run: () => reply({ content: ['a', 'b'] }) }),
    },
  })
  const [a, b] = ['a', 'b'].map((text) => ({ type: 'text', text }))
  expect(await call(server, 'list')).toMatchObject({ content: [a, { type: 'image' }, b] })
  expect(await call(server, 'reply')).toMatchObject({ content: [a, b] })
})

describe('a result that cannot be sent', () => {
  test.each<[string, Parameters<typeof tool>[0], string]>([
    [
      'a circular value',
      { output: { type: 'object' }, run: () => circular },
      'structuredContent.self[0] is a reference to an object that contains it',
    ],
    [
      'a BigInt',
      { output: z.object({ rows: z.array(z.any()) }), run: () => ({ rows: [{ id: 1n }] }) },
      'structuredContent.rows[0].id is a BigInt',
    ],
    [
      'NaN',
      { output: z.object({ rows: z.any() }), run: () => ({ rows: [{ mean: 0 / 0 }] }) },
      'structuredContent.rows[0].mean is NaN',
    ],
    [
      'a Map',
      { output: z.object({ rows: z.any() }), run: () => ({ rows: new Map([['a', 1]]) }) },
      'structuredContent.rows is an instance of Map',
    ],
    [
      'a Set beside content',
      { run: () => reply({ content: 'one', structured: { ids: new Set([1]) } }) },
      'structuredContent.ids is an instance of Set',
    ],
    [
      'a result as other SDKs have it, beside an output schema',
      {
        output: z.object({ cents: z.number() }),
        run: () =>
          // As JavaScript may return it.
          JSON.parse('{"content":[{"type":"text","text":"one"}],"structuredContent":{"cents":1}}'),
      },
      'Return the value itself, or reply({ content, structured })',
    ],
    ['a number', { run: () => JSON.parse('5') }, 'Tool "show" returned 5 (a number). Return text, such as'],
    ['null', { run: () => JSON.parse('null') }, 'Tool "show" returned null. Return text'],
    [
      'a list with a number',
      { run: () => JSON.parse('["a",5]') },
      'content[1] is not a complete content block: it must be an object with a "type", not a number',
    ],
    [
      'a BigInt beside content',
      { run: () => reply({ content: 'one', structured: { id: { n: 1n } } }) },
      'structuredContent.id.n is a BigInt',
    ],
    [
      'circular metadata',
      { run: () => reply({ content: 'one', meta: { circular } }) },
      '_meta.circular.self[0]',
    ],
    [
      'circular metadata of a block',
      { run: () => [{ type: 'text', text: 'one', _meta: { circular } }] },
      'content[0]._meta.circular.self[0]',
    ],
    [
      'an image as a data: URL',
      { run: () => [{ type: 'image', data: 'data:image/png;base64,AQID', mimeType: 'image/png' }] },
      'content[0] is not a complete content block: "data" is a data: URL: use the part after its comma',
    ],
    [
      'an image without its type',
      { run: () => ['x', { type: 'image', data: 'AQID' }].slice(1) },
      'content[0] is not a complete content block: "mimeType" is missing',
    ],
    [
      'an image of bytes',
      // @ts-expect-error it is base64
      { run: () => reply({ content: [{ type: 'image', data: bytes, mimeType: 'image/png' }] }) },
      'content[0] is not a complete content block: "data" has bytes: encode them with image()',
    ],
  ])('is reported with its tool and place: %s', async (_, definition, place) => {
    const reports: [string, { method: string; name?: string }][] = []
    const server = defineServer({
      ...base,
      tools: { show: tool(definition) },
      onError: (error, where) => reports.push([String(error), where]),
    })
    expect(await call(server, 'show')).toMatchObject({ isError: true, content: [{ type: 'text' }] })
    expect(reports).toHaveLength(1)
    expect(reports[0]?.[1]).toEqual({ method: 'tools/call', name: 'show' })
    expect(reports[0]?.[0]).toContain(place)
    const client = await connect(server)
    onTestFinished(() => client.close())
    expect(await client.call('show')).toHaveProperty('isError', true)
  })

  test('is reported with its position for prompts and resources too', async () => {
    const server = defineServer({
      ...base,
      prompts: {
        p: prompt({
          run: () => ({
            messages: [{ role: 'user', content: { type: 'text', text: 'a', _meta: { n: 1n } } }],
          }),
        }),
        plain: prompt({
          // @ts-expect-error the content of a message is a block
          run: () => [{ role: 'user', content: 'plain' }],
        }),
        bare: prompt({
          run: () => [{ role: 'user', content: { type: 'audio', data: 'data:,', mimeType: 'a/b' } }],
        }),
      },
      resources: {
        r: resource({ uri: 'x:r', read: () => ({ contents: [], meta: { circular } }) }),
        s: resource({ uri: 'x:s', read: () => [{ uri: 'x:s', blob: 'data:,x' }] }),
      },
    })
    await expect(request(server, 'prompts/get', { name: 'p' })).rejects.toThrow(
      'messages[0].content._meta.n is a BigInt',
    )
    await expect(request(server, 'prompts/get', { name: 'bare' })).rejects.toThrow(
      'messages[0].content is not a complete content block: "data" is a data: URL',
    )
    await expect(request(server, 'prompts/get', { name: 'plain' })).rejects.toThrow(
      `messages[0].content is not a complete content block: it must be an object with a "type", not a string. Write { type: 'text', text }`,
    )
    await expect(request(server, 'resources/read', { uri: 'x:r' })).rejects.toThrow(
      '_meta.circular.self[0] is a reference',
    )
    await expect(request(server, 'resources/read', { uri: 'x:s' })).rejects.toThrow(
      'contents[0] cannot be used: "blob" is a data: URL',
    )
  })
})
