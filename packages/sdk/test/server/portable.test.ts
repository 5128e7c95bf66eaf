import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

/** A server with every feature, called with the globals of browsers only. */
const program = `
  import { defineServer, ask, inputRequired, limits, prompt, resource, template, tool } from './index.ts'
  import { noInput } from './request/live-run.ts'
  import { revisions } from './protocol/revisions.ts'
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    pageSize: 1,
    tools: {
      add: tool({
        input: { type: 'object', properties: { a: { type: 'number' } } },
        run: ({ a }, ctx) => { ctx.progress(1); return String(a + 1) },
      }),
      other: tool({ run: () => 'x' }),
    },
    resources: {
      bytes: resource({ uri: 'x:b', read: () => new Uint8Array([1, 2, 3]) }),
      family: template({ uriTemplate: 'x:{id}/{+path}', read: ({ path }) => path }),
    },
    prompts: { p: prompt({ run: () => 'hi' }) },
  })
  const request = async (method, params) => {
    const { result } = await server.handle({
      id: 1,
      method,
      params,
      peer: { revision: revisions['2026-07-28'], capabilities: {}, principal: null },
      signal: new AbortController().signal,
      inputStrategy: noInput,
      limits,
      notify() {},
    })
    return result
  }
  globalThis.answers = async () => [
    await request('tools/call', { name: 'add', arguments: { a: 1 } }),
    (await request('tools/list', {})).nextCursor,
    await request('resources/read', { uri: 'x:b' }),
    await request('resources/read', { uri: 'x:1/a/b' }),
    (await request('prompts/get', { name: 'p' })).messages.length,
  ]
`

test('the root of the package runs anywhere: no built-in modules, no globals of Node', async () => {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: new URL('../../src', import.meta.url).pathname, loader: 'ts' },
    bundle: true,
    write: false,
    metafile: true,
    format: 'iife',
    platform: 'neutral',
  })
  const external = Object.values(metafile.inputs).flatMap(({ imports }) =>
    imports.filter((one) => one.external === true),
  )
  expect(external).toEqual([])
  const web = { AbortController, atob, btoa, clearTimeout, crypto, setTimeout, TextDecoder, TextEncoder, URL }
  const context = createContext({ ...web })
  runInContext(outputFiles.map(({ text }) => text).join(''), context)
  const answers: unknown = await runInContext('answers().then(JSON.stringify)', context)
  expect(JSON.parse(String(answers))).toEqual([
    { content: [{ type: 'text', text: '2' }] },
    expect.any(String),
    { contents: [{ uri: 'x:b', mimeType: 'application/octet-stream', blob: 'AQID' }] },
    { contents: [{ uri: 'x:1/a/b', mimeType: 'text/plain', text: 'a/b' }] },
    1,
  ])
})
