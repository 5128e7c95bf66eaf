import { defineServer, type Server, tool } from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { expect, it, onTestFinished } from 'vitest'
import { adapters } from './http-support.ts'
import { settle, until } from './support.ts'
import { urlElicitationClient } from './url-elicitation-client.ts'

const complete = 'notifications/elicitation/complete'

function shop(): Server {
  return defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: {
      pay: tool({
        async run(_args, ctx) {
          const id = await ctx.step('id', () => crypto.randomUUID())
          const answer = await ctx.elicitUrl({
            message: 'Pay there',
            url: 'https://pay.example/7',
            id,
          })
          return answer.action
        },
      }),
    },
  })
}

it.each(adapters)(
  'a URL elicitation that completes on another node notifies its session once (%s)',
  async (_, adapter) => {
    const plane = memoryBackplane()
    const servers = [shop(), shop(), shop()]
    const nodes = await Promise.all(servers.map((server) => adapter(server, { backplane: plane })))
    onTestFinished(async () => {
      for (const node of nodes) await node.close()
    })
    const [home, , third] = nodes
    if (home === undefined || third === undefined) throw new Error('No nodes')
    const asked = await urlElicitationClient(home)
    const others = [await urlElicitationClient(home), await urlElicitationClient(third)]
    const first = await asked.elicit('pay')
    const second = await asked.elicit('pay')
    for (const one of others) await one.elicit('pay')
    servers[2]?.elicitationComplete('of nobody')
    servers[2]?.elicitationComplete(String(first))
    await until(() => asked.stream.messages().length === 1)
    servers[1]?.elicitationComplete(String(second))
    servers[1]?.elicitationComplete(String(first))
    await until(() => asked.stream.messages().length === 2)
    await settle(20)
    const received = [first, second].map((elicitationId) => ({
      jsonrpc: '2.0',
      method: complete,
      params: { elicitationId },
    }))
    expect(asked.stream.messages()).toEqual(received)
    for (const one of others) expect(one.stream.messages()).toEqual([])
  },
)
