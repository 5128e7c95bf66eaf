import { createServer } from 'node:http'
import { defineServer, tool } from '@jackfield/sdk'
import { bearer, jwt } from '@jackfield/sdk/auth'
import { serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'

const notes: string[] = []

const server = defineServer({
  name: 'notes',
  version: '1.0.0',
  tools: {
    read: tool({
      description: 'Read every note',
      scopes: ['notes:read'],
      run: () => notes.join('\n'),
    }),
    write: tool({
      description: 'Write a note',
      scopes: ['notes:write'],
      input: z.object({ text: z.string() }),
      run({ text }, { peer }) {
        notes.push(`${peer.claims['sub']}: ${text}`)
        return 'Written.'
      },
    }),
  },
})

/** Serves notes on a free port to callers with a token of this authorization server. */
export async function startNotes(issuer: string): Promise<{ url: string; close(): Promise<void> }> {
  const web = createServer()
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  const address = web.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/mcp`

  const handler = serveHttp(server, {
    authenticate: bearer({
      resource: url,
      authorizationServers: [issuer],
      verify: jwt({ issuer }),
      scopes: { required: ['notes:read'], implied: { 'notes:write': ['notes:read'] } },
      name: 'Notes',
    }),
    keys: [crypto.getRandomValues(new Uint8Array(32))],
  })
  web.on('request', handler.node)
  return {
    url,
    async close() {
      await handler.close()
      web.closeAllConnections()
      await new Promise((resolve) => web.close(resolve))
    },
  }
}
