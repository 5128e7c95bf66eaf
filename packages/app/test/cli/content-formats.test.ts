import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { inProcess } from '../terminal/in-process.ts'
import { tempFolder } from './jackfield.ts'
import { offer } from './one-tool-server.ts'

const pixel = 'iVBORw0KGgo='
const mixed = {
  content: [
    { type: 'text', text: 'A chart' },
    { type: 'image', mimeType: 'image/png', data: pixel },
    { type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' },
    { type: 'resource', resource: { uri: 'file:///x/..%2f..%2fetc%2fpasswd', blob: 'AAEC' } },
    { type: 'resource', resource: { uri: 'note://a/notes.txt', mimeType: 'text/plain', text: 'a ``` b' } },
    { type: 'resource_link', uri: 'https://example.org/a', name: 'More [here]' },
  ],
  structuredContent: { height: 1 },
}

function program(result: object, home: string): string[] {
  const config = join(home, 'config.json')
  const tools = [{ name: 'draw', inputSchema: { type: 'object' } }]
  writeFileSync(config, JSON.stringify({ mcpServers: { art: offer(tools, result) } }))
  return ['--config', config]
}

async function draw(options: string[], { home = tempFolder(), result = mixed as object, piped = true } = {}) {
  const run = inProcess(['call', 'art', 'draw', ...options, ...program(result, home)], { home, piped })
  const code = await run.ended
  return { code, output: run.output(), home }
}

describe('--save-media', () => {
  test('writes images, audio and blobs to new files with matching extensions, only in the folder', async () => {
    const home = tempFolder()
    mkdirSync(join(home, 'out'))
    writeFileSync(join(home, 'out/draw.png'), 'mine')
    writeFileSync(join(home, 'elsewhere'), 'untouched')
    symlinkSync(join(home, 'elsewhere'), join(home, 'out/draw.wav'))
    const { code, output } = await draw(['--save-media', 'out'], { home })
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(readdirSync(join(home, 'out')).toSorted()).toEqual([
      'draw-2.png',
      'draw-2.wav',
      'draw.png',
      'draw.wav',
      'etc-passwd.bin',
    ])
    expect(readFileSync(join(home, 'out/draw-2.png')).toString('base64')).toBe(pixel)
    expect(readFileSync(join(home, 'out/draw.png'), 'utf8')).toBe('mine')
    expect(readFileSync(join(home, 'elsewhere'), 'utf8')).toBe('untouched')
    expect(output).toContain(`8 B written to ${join(home, 'out/draw-2.png')}`)
  })

  test('writes nothing if there is too much data, or it is not base64', async () => {
    faultyPeer('its image is not base64')
    const image = { type: 'image', mimeType: 'image/png', data: pixel }
    const many = await draw(['--save-media', 'out'], { result: { content: Array(101).fill(image) } })
    expect(many.code).toBe(1)
    expect(many.output).toContain('Nothing was saved: the result has 101 files')
    const wrong = await draw(['--save-media', 'out'], {
      result: { content: [image, { ...image, data: '!!' }] },
    })
    expect(wrong.code).toBe(4)
    expect(wrong.output).toContain('is not valid base64')
    expect(readdirSync(many.home)).not.toContain('out')
    expect(readdirSync(wrong.home)).not.toContain('out')
  })

  test('a folder that cannot be created is a usage error', async () => {
    const home = tempFolder()
    writeFileSync(join(home, 'out'), '')
    const { code, output } = await draw(['--save-media', 'out'], { home })
    expect(code).toBe(2)
    expect(output).toContain('--save-media: cannot write in')
  })
})

describe('--output', () => {
  test('json is the same as --json', async () => {
    const { output } = await draw(['--output', 'json'])
    expect(JSON.parse(output)).toEqual(mixed)
    expect(output).toBe((await draw(['--json'])).output)
  })

  test('json also makes failures JSON', async () => {
    const home = tempFolder()
    const run = inProcess(['call', 'art', 'paint', '--output', 'json', ...program(mixed, home)], {
      home,
      piped: true,
    })
    expect(await run.ended).toBe(4)
    expect(JSON.parse(run.output()).error.message).toContain('no tool "paint"')
  })

  test('markdown has links, fences and headings that content cannot break', async () => {
    const { output } = await draw(['--output', 'markdown'])
    expect(output).toContain('A chart\n\n*image, image/png, 8 B*\n\n')
    expect(output).toContain('### note://a/notes.txt\n\n````\na ``` b\n````')
    expect(output).toContain('[More \\[here\\]](<https://example.org/a>)')
    expect(output).toContain('```json\n{\n  "height": 1\n}\n```')
  })

  test('raw prints text unchanged in a pipe, and sanitized on a terminal', async () => {
    const result = {
      content: [
        { type: 'text', text: 'red\u0007\n' },
        { type: 'text', text: 'two' },
      ],
    }
    expect((await draw(['--output', 'raw'], { result })).output).toBe('red\u0007\n\ntwo')
    expect((await draw(['--output', 'raw'], { result, piped: false })).output).toBe('red\n\ntwo\n')
  })

  test('an unknown format, or one together with --json, is a usage error', async () => {
    expect(await draw(['--output', 'yaml'])).toMatchObject({ code: 2 })
    expect(await draw(['--output', 'raw', '--json'])).toMatchObject({ code: 2 })
  })
})

/** A server with one resource and one prompt of several blocks. */
const gallery = [
  process.execPath,
  '-e',
  `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line)
    if (id === undefined) return
    const image = { type: 'image', mimeType: 'image/png', data: '${pixel}' }
    const results = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { resources: {}, prompts: {} }, serverInfo: { name: 'g', version: '1' } },
      'resources/list': { resources: [{ uri: 'art://wall', name: 'wall' }] },
      'resources/read': { contents: [
        { uri: 'art://wall/note.txt', mimeType: 'text/plain', text: 'red\\u0007\\n' },
        { uri: 'art://wall/one.png', mimeType: 'image/png', blob: '${pixel}' },
      ] },
      'prompts/list': { prompts: [{ name: 'describe' }] },
      'prompts/get': { messages: [
        { role: 'user', content: { type: 'text', text: 'Look\\u0007' } },
        { role: 'user', content: image },
      ] },
    }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(results[method] ? { result: results[method] } : { error: { code: -32601, message: 'unknown' } }) }))
  })`,
]

describe.each([
  { words: ['read', 'art://wall'], text: 'red\u0007\n', file: 'one.png' },
  { words: ['prompt', 'describe'], text: 'Look\u0007', file: 'describe.png' },
])('$words.0', ({ words, text, file }) => {
  async function shown(options: string[], home = tempFolder()) {
    const run = inProcess([...words, ...options, '--', ...gallery], { home, piped: true })
    const code = await run.ended
    return { code, output: run.output(), home }
  }

  test('--output raw prints the text unchanged and the bytes of media', async () => {
    const { code, output } = await shown(['--output', 'raw'])
    expect(code).toBe(0)
    expect(output.startsWith(text)).toBe(true)
    expect(output).toContain('PNG')
    expect(output).not.toContain(pixel)
  })

  test('--save-media writes the media to a new file and prints its name', async () => {
    const { code, output, home } = await shown(['--save-media', 'out'])
    expect(code).toBe(0)
    expect(readdirSync(join(home, 'out'))).toEqual([file])
    expect(readFileSync(join(home, 'out', file)).toString('base64')).toBe(pixel)
    expect(output).toContain(`8 B written to ${join(home, 'out', file)}`)
  })

  test('--output raw together with --json is a usage error', async () => {
    expect((await shown(['--output', 'raw', '--json'])).code).toBe(2)
  })
})
