import { defineServer, prompt, reply, resource, tool } from '@jackfield/sdk'
import { describe, expect, test, vi } from 'vitest'
import { call, request, text } from './support.ts'

const base = { name: 'shop', version: '1.0.0' }
const image = { type: 'image', data: 'AAEC', mimeType: 'image/png' }
const audio = { type: 'audio', data: 'AAE=', mimeType: 'audio/wav; codecs=1' }
const embedded = (contents: object) => ({ type: 'resource', resource: { uri: 'x:1', ...contents } })

const good = [
  { type: 'text', text: '' },
  image,
  audio,
  embedded({ mimeType: 'text/plain', text: 'a' }),
  embedded({ mimeType: 'image/png', blob: 'AA==' }),
  { type: 'resource_link', uri: 'x:1', name: 'one' },
]
const bad: [string, object][] = [
  ['an image that is no base64', { ...image, data: 'not base64!' }],
  ['an image cut short', { ...image, data: 'AAE' }],
  ['an image in the alphabet of URLs', { ...image, data: '_-_-' }],
  ['an image without a type', { ...image, mimeType: undefined }],
  ['an image of a type that is none', { ...image, mimeType: 'png' }],
  ['a sound that is no base64', { ...audio, data: 'RIFF....' }],
  ['a sound without a type', { ...audio, mimeType: '' }],
  ['a resource without contents', { type: 'resource' }],
  ['a resource without a URI', { type: 'resource', resource: { text: 'a' } }],
  ['a resource with both', embedded({ text: 'a', blob: 'AA==' })],
  ['a resource with neither', embedded({})],
  ['a resource whose bytes are no base64', embedded({ blob: '%%%%' })],
  ['a link without a URI', { type: 'resource_link', name: 'one' }],
  ['text that is none', { type: 'text', text: 7 }],
  ['a type there is not', { type: 'video', data: 'AA==', mimeType: 'video/mp4' }],
]
/** A handler written without types can return anything. */
const untyped = (value: unknown) => JSON.parse(JSON.stringify(value))

describe('content', () => {
  test('that is valid is sent unchanged', async () => {
    const server = defineServer({
      ...base,
      tools: {
        t: tool({ run: () => untyped(good) }),
        r: tool({ run: () => reply({ content: untyped(good) }) }),
      },
      prompts: {
        p: prompt({
          run: () => good.map((content) => ({ role: 'user' as const, content: untyped(content) })),
        }),
      },
    })
    expect(await call(server, 't')).toEqual({ content: good })
    expect(await call(server, 'r')).toEqual({ content: good })
    expect(await request(server, 'prompts/get', { name: 'p' })).toEqual({
      messages: good.map((content) => ({ role: 'user', content })),
    })
  })

  test.each(bad)('that is %s is never sent', async (_, content) => {
    const onError = vi.fn()
    const contents = 'resource' in content ? untyped(content.resource) : undefined
    const server = defineServer({
      ...base,
      onError,
      tools: {
        t: tool({ run: () => untyped(content) }),
        r: tool({ run: () => reply({ content: untyped(content) }) }),
      },
      prompts: { p: prompt({ run: () => ({ role: 'user' as const, content: untyped(content) }) }) },
      resources: { c: resource({ uri: 'x:1', read: () => contents }) },
    })
    for (const name of ['t', 'r']) expect(text(await call(server, name))).toContain('failed unexpectedly')
    expect(onError).toHaveBeenCalledTimes(2)
    await expect(request(server, 'prompts/get', { name: 'p' })).rejects.toBeInstanceOf(TypeError)
    if (contents !== undefined) {
      await expect(request(server, 'resources/read', { uri: 'x:1' })).rejects.toBeInstanceOf(TypeError)
    }
  })
})
