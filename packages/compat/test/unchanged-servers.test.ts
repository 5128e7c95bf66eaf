import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { connect, sse } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../test/setup/ports.ts'
import {
  type Call,
  emptyFolder,
  type Launch,
  launch,
  type OfficialServer,
  officialServers,
} from './support/official-servers.ts'

const lists: readonly Call[] = [
  ['tools/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['prompts/list', {}],
]

/** What the official client gets from a server: the lists and the results, errors included. */
async function seenByOfficialClient(
  { command, args, env, cwd }: Launch,
  calls: readonly Call[],
): Promise<unknown> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} })
  await client.connect(new StdioClientTransport({ command, args, env, cwd, stderr: 'ignore' }))
  try {
    const results: unknown[] = []
    for (const [method, params] of [...lists, ...calls]) {
      results.push(
        await client
          .request({ method, params }, ResultSchema)
          .catch(({ code, message }) => ({ code, message })),
      )
    }
    return {
      info: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
      results,
    }
  } finally {
    await client.close()
  }
}

/** The content of each result, which is the same on every revision. */
async function contentsOn(
  version: ProtocolVersion,
  { command, args, env, cwd }: Launch,
  calls: readonly Call[],
): Promise<unknown[]> {
  const client = await connect(stdio({ command, args, env, cwd, onStderr: () => {} }), {
    revisions: [version],
    onWarning: () => {},
  })
  try {
    expect(client.server.revision).toBe(version)
    const contents: unknown[] = [(await client.tools()).map(({ name }) => name)]
    for (const [method, params] of calls) {
      const result = await client.request(method, params).catch(({ message }) => ({ message }))
      contents.push(textsOf(result))
    }
    return contents
  } finally {
    await client.close()
  }
}

function textsOf(result: object): unknown {
  if ('content' in result && Array.isArray(result.content))
    return result.content.map(({ type, text }) => [type, text])
  if ('messages' in result) return result.messages
  if ('contents' in result) return result.contents
  if ('completion' in result) return result.completion
  return result
}

/**
 * The revisions at which one of the servers is tried: all of the first, and of each other one the newest and one that changes
 * from server to server. What a revision does to results is the same code for all servers. `JACKFIELD_MATRIX=full`, which
 * `npm run test:all` sets, tries all of each.
 */
function revisionsFor(server: OfficialServer): readonly ProtocolVersion[] {
  const index = officialServers.indexOf(server)
  if (index === 0 || process.env['JACKFIELD_MATRIX'] === 'full') return protocolVersions
  const older = protocolVersions.slice(0, -1)
  return protocolVersions.filter(
    (version, at) => !older.includes(version) || (at + index) % older.length === 0,
  )
}

describe.for(officialServers)('$name, unchanged', (server) => {
  it('gives the official client the same lists and results as on the official SDK', async () => {
    const folder = emptyFolder()
    const calls = server.calls(folder)
    const official = await seenByOfficialClient(launch(server, 'official', folder), calls)
    const compat = await seenByOfficialClient(launch(server, 'compat', folder), calls)
    expect(compat).toEqual(official)
  })

  it('serves clients of different revisions alike', async () => {
    const folder = emptyFolder()
    const calls = server.calls(folder)
    const seen = new Map<string, unknown[]>()
    for (const version of revisionsFor(server)) {
      seen.set(version, await contentsOn(version, launch(server, 'compat', folder), calls))
    }
    const [newest = []] = [...seen.values()].reverse()
    expect(newest[0]).toHaveLength(server.tools)
    const wholeContent = [...seen].filter(([version]) => version >= '2025-06-18')
    for (const [version, contents] of wholeContent)
      expect({ version, contents }).toEqual({ version, contents: newest })
    // Older revisions have fewer kinds of content; tools and plain texts are the same.
    for (const [version, contents] of seen)
      expect({ version, tools: contents[0] }).toEqual({ version, tools: newest[0] })
  })
})

describe('server-everything over HTTP, unchanged', () => {
  const [everything] = officialServers
  const endings: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of endings.splice(0)) await end()
  })

  /** Starts the server in one of its modes, and resolves with its origin once it listens. */
  async function start(mode: 'streamableHttp' | 'sse'): Promise<string> {
    if (everything === undefined) throw new Error('no server')
    const { command, args, env, cwd } = launch(everything, 'compat', emptyFolder())
    const port = await freePort()
    const local = ['--import', new URL('support/listen-locally.mjs', import.meta.url).href]
    const child = spawn(command, [...local, ...args.slice(0, -1), mode], {
      cwd,
      env: { ...env, PORT: String(port) },
    })
    endings.push(async () => {
      child.kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    })
    for await (const line of createInterface({ input: child.stderr })) {
      if (line.includes(String(port))) break
    }
    child.stdout.resume()
    return `http://127.0.0.1:${port}`
  }

  it('serves every revision of Streamable HTTP, with requests to the client', async () => {
    const origin = await start('streamableHttp')
    for (const version of protocolVersions.slice(1)) {
      const client = await connect(`${origin}/mcp`, {
        revisions: [version],
        onSample: () => ({ model: 'm', role: 'assistant', content: { type: 'text', text: 'sampled' } }),
        onWarning: () => {},
      })
      expect(client.server.revision).toBe(version)
      const tools = (await client.tools()).map(({ name }) => name)
      expect(tools).toContain('trigger-sampling-request')
      const asked = await client.call('trigger-sampling-request', { prompt: 'p' })
      expect(JSON.stringify(asked.content)).toContain('sampled')
      await client.close()
    }
  })

  it('serves HTTP+SSE with the transport of the official SDK', async () => {
    const origin = await start('sse')
    const client = await connect(sse(`${origin}/sse`), { revisions: ['2024-11-05'], onWarning: () => {} })
    expect(await client.call('echo', { message: 'hello' })).toMatchObject({
      content: [{ text: 'Echo: hello' }],
    })
    await client.close()
  })
})
