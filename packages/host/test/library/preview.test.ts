import type { ResourceContents } from '@jackfield/sdk'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLibrary } from '../../src/resources/library.ts'
import type { ContentPreview } from '../../src/types/index.ts'
import { listed } from './shelf.ts'

async function seen(
  content: Omit<ResourceContents, 'uri'> & { text?: string; blob?: string },
  uri = 'a://b',
) {
  const whole = { text: '', ...content, uri }
  const contents: ResourceContents[] =
    content.blob === undefined
      ? [whole]
      : [{ uri, blob: content.blob, ...(content.mimeType !== undefined && { mimeType: content.mimeType }) }]
  const library = createLibrary(listed({}, { read: async () => ({ contents }) }), () => {})
  const preview = await library.preview('s', uri, { characters: 20 })
  const [first] = preview.contents
  if (first === undefined) throw new Error('nothing seen')
  return { ...preview, first }
}

const hex = (text: string): string => Buffer.from(text.replaceAll(' ', ''), 'hex').toString('base64')
const png = hex('89504e470d0a1a0a 0000000d49484452 00000140 000000f0 0802000000')
const gif = hex('474946383961 4001 f000 800000')
const jpeg = hex('ffd8 ffe0 0010 4a46494600010100000100010000 ffc0 0011 08 00f0 0140 03 012200 021101 031101')
const webp = hex('52494646 24000000 57454250 56503858 0a000000 10000000 3f0100 ef0000')
const bmp = hex('424d 00000000 0000 0000 36000000 28000000 40010000 10ffffff')

test.each<[string, string, string | undefined]>([
  ['PNG', png, 'image/png'],
  ['GIF', gif, 'image/gif'],
  ['JPEG', jpeg, 'image/jpeg'],
  ['WebP', webp, 'image/webp'],
  ['BMP', bmp, 'image/bmp'],
  ['PNG without a type', png, undefined],
])('a %s is an image of its size', async (_name, blob, mimeType) => {
  const { first, tokens } = await seen({ blob, ...(mimeType !== undefined && { mimeType }) })
  expect(first).toMatchObject({ type: 'image', width: 320, height: 240, data: blob })
  if (mimeType !== undefined) expect(tokens).toBeGreaterThanOrEqual(Math.ceil((320 * 240) / 750))
})

test('texts, Markdown, JSON, audio and bytes each have their form', async () => {
  expect((await seen({ text: 'a text of more than 20 characters' })).first).toEqual({
    type: 'text',
    uri: 'a://b',
    bytes: 33,
    text: 'a text of more than ',
    leftOut: 13,
  })
  expect((await seen({ text: '# Title', mimeType: 'text/markdown' })).first.type).toBe('markdown')
  expect((await seen({ text: '# Title' }, 'file:///readme.md')).first.type).toBe('markdown')
  expect(
    (await seen({ text: '{"a":[1,null,"x"],"b":true}', mimeType: 'application/ld+json' })).first,
  ).toMatchObject({
    type: 'json',
    leftOut: 7,
    tree: {
      type: 'object',
      count: 2,
      children: [
        {
          key: 'a',
          type: 'array',
          count: 3,
          children: [
            { key: '0', type: 'number', value: '1' },
            { key: '1', type: 'null', value: 'null' },
            { key: '2', type: 'string', value: '"x"' },
          ],
        },
        { key: 'b', type: 'boolean', value: 'true' },
      ],
    },
  })
  expect((await seen({ text: '{"a":', mimeType: 'application/json' })).first.type).toBe('text')
  expect((await seen({ blob: hex('494433'), mimeType: 'audio/mpeg' })).first).toMatchObject({
    type: 'audio',
    bytes: 3,
  })
  expect((await seen({ blob: hex('255044462d312e37'), mimeType: 'application/pdf' })).first).toMatchObject({
    type: 'binary',
    looksLike: 'pdf',
    head: '255044462d312e37',
    bytes: 8,
  })
})

test('a JSON tree of any size is cut and has its total size', async () => {
  const list = Array.from({ length: 100_000 }, (_, n) => n)
  const { first } = await seen({ text: JSON.stringify(list), mimeType: 'application/json' })
  const sizeOf = (node: { children?: readonly object[] }): number =>
    1 + (node.children ?? []).reduce((sum: number, child) => sum + sizeOf(child), 0)
  if (first.type !== 'json') throw new Error(first.type)
  expect(first.tree.count).toBe(100_000)
  expect(sizeOf(first.tree)).toBeLessThanOrEqual(500)
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  expect(['json', 'text']).toContain((await seen({ text: deep, mimeType: 'application/json' })).first.type)
})

test('any bytes of any type have a preview', async () => {
  const starts = [png, gif, jpeg, webp, bmp].map((one) => Buffer.from(one, 'base64'))
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...starts),
      fc.nat(40),
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom('image/png', 'audio/wav', 'application/octet-stream', ''),
      async (start, cut, rest, mimeType) => {
        const blob = Buffer.concat([start.subarray(0, cut), rest]).toString('base64')
        const { first }: { first: ContentPreview } = await seen({ blob, mimeType })
        expect(['image', 'audio', 'binary']).toContain(first.type)
      },
    ),
    { numRuns: 200 },
  )
})
