// A server of 2026-07-28 over HTTP, written without an SDK: the test gives its input requests and `requestState`.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface CallParams {
  name: string
  arguments: Record<string, unknown>
  inputResponses?: Record<string, unknown>
  requestState?: string
  _meta: Record<string, unknown>
}

export interface RoundsServer {
  readonly url: string
  /** Every call as it came. */
  readonly calls: CallParams[]
}

/** What a call is answered with: a result, an error, or nothing ever. */
export type Script = (params: CallParams, nth: number) => object | undefined

export const text = (value: unknown): object => ({
  resultType: 'complete',
  content: [{ type: 'text', text: JSON.stringify(value) }],
})

export const asksBack = (questions: object, requestState?: string): object => ({
  resultType: 'input_required',
  inputRequests: questions,
  ...(requestState !== undefined && { requestState }),
})

/** The server's instructions and the description of its tool. */
export interface ServerTexts {
  instructions?: string
  description?: string
  resources?: object[]
}

export async function roundsServer(script: Script, definitions: ServerTexts = {}): Promise<RoundsServer> {
  const calls: CallParams[] = []
  const listed = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
  const answer = (method: string, params: CallParams): object | undefined => {
    if (method === 'server/discover') {
      const { instructions, resources } = definitions
      return {
        ...listed,
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {}, ...(resources !== undefined && { resources: {} }) },
        ...(instructions !== undefined && { instructions }),
      }
    }
    if (method === 'tools/list') {
      const { description } = definitions
      const book = { name: 'book', inputSchema: { type: 'object' } }
      return { ...listed, tools: [{ ...book, ...(description !== undefined && { description }) }] }
    }
    if (method === 'resources/list') return { ...listed, resources: definitions.resources ?? [] }
    if (method === 'resources/templates/list') return { ...listed, resourceTemplates: [] }
    calls.push(params)
    return script(params, calls.length)
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
      const given = answer(method, params)
      if (given === undefined) return
      const outcome = 'code' in given ? { error: given } : { result: given }
      response.writeHead('code' in given ? 400 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/mcp`, calls }
}
