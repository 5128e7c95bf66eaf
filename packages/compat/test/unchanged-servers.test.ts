import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it } from 'vitest'
import { type Call, emptyFolder, type Launch, launch, officialServers } from './support/official-servers.ts'

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

describe.for(officialServers)('$name, unchanged', (server) => {
  it('gives the official client the same lists and results as on the official SDK', async () => {
    const folder = emptyFolder()
    const calls = server.calls(folder)
    const official = await seenByOfficialClient(launch(server, 'official', folder), calls)
    const compat = await seenByOfficialClient(launch(server, 'compat', folder), calls)
    expect(compat).toEqual(official)
  })

  it('serves all five revisions alike', async () => {
    const folder = emptyFolder()
    const calls = server.calls(folder)
    const seen = new Map<string, unknown[]>()
    for (const version of protocolVersions) {
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
