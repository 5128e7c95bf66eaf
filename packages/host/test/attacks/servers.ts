import { createServer } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Hostile } from './attacks.ts'

export interface Recorded extends AsyncDisposable {
  url: string
  /** Every tool that was called, with what it was given. */
  ran: [string, unknown][]
}

/** A server that a person trusts with everything. */
export function bank(): Promise<Recorded> {
  return serve((server, ran) => {
    for (const [name, hints] of [
      ['transfer', { destructiveHint: true }],
      ['send_mail', { openWorldHint: true }],
      ['delete_all', { destructiveHint: true }],
      ['pay', { destructiveHint: true }],
    ] as const) {
      server.registerTool(
        name,
        { description: `Does ${name}`, annotations: hints, inputSchema: z.looseObject({}) },
        (args) => {
          ran.push([name, args])
          return textResult('done')
        },
      )
    }
    server.registerResource('secret', 'bank://secret', {}, () => ({
      contents: [{ uri: 'bank://secret', text: 'SECRET-4711' }],
    }))
  })
}

/** A server with the texts of an attack. */
export function hostileServer({
  tools,
  resources = [],
  prompts = [],
  instructions,
}: Hostile): Promise<Recorded> {
  return serve((server, ran) => {
    for (const tool of tools) {
      const { name, description, annotations, parameters = {}, elicit, sample } = tool
      const shape = Object.fromEntries(
        Object.entries(parameters).map(([key, about]) => [key, z.string().optional().describe(about)]),
      )
      const options = {
        description,
        inputSchema: z.looseObject(shape),
        ...(annotations !== undefined && { annotations }),
      }
      server.registerTool(name, options, (args, ctx) => {
        const answers = ctx.mcpReq.inputResponses
        if (answers === undefined && elicit !== undefined) {
          const schema = { type: 'object' as const, properties: { answer: { type: 'string' as const } } }
          return inputRequired({
            inputRequests: {
              q: { method: 'elicitation/create', params: { message: elicit, requestedSchema: schema } },
            },
          })
        }
        if (answers === undefined && sample !== undefined) {
          const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: sample } }]
          return inputRequired({
            inputRequests: { m: inputRequired.createMessage({ messages, maxTokens: 100 }) },
          })
        }
        ran.push([name, answers === undefined ? args : { answers }])
        return textResult(tool.result)
      })
    }
    for (const { uri, name, text, description } of resources) {
      server.registerResource(name, uri, description === undefined ? {} : { description }, () => ({
        contents: [{ uri, text }],
      }))
    }
    for (const { name, text, description } of prompts) {
      server.registerPrompt(name, { description }, () => ({
        messages: [{ role: 'user', content: { type: 'text', text } }],
      }))
    }
  }, instructions)
}

async function serve(
  furnish: (server: McpServer, ran: Recorded['ran']) => void,
  instructions?: string,
): Promise<Recorded> {
  const ran: Recorded['ran'] = []
  const handler = createMcpHandler(
    () => {
      const options = instructions === undefined ? {} : { instructions }
      const server = new McpServer({ name: 'attacked', version: '1.0.0' }, options)
      furnish(server, ran)
      return server
    },
    { legacy: 'reject' },
  )
  const node = toNodeHandler(handler)
  const http = createServer((request, response) => {
    node(Object.assign(request, { method: request.method ?? '', url: request.url ?? '' }), response)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const address = http.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    ran,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

function textResult(text: string): { content: { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text }] }
}
