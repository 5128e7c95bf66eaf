import { describe, expect, it } from 'vitest'
import type { HostAnswers, HostQuestion, ServerConfig } from '../../src/types/index.ts'
import { started } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { chat, rule } from './rules.ts'

/** A server with two tools that say they are read-only and one that does not, which changes the second one's words. */
const changing: ServerConfig = {
  command: process.execPath,
  args: [
    '-e',
    `let words = 'Reads the second thing'
    const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
    const inputSchema = { type: 'object' }
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line)
      if (id === undefined) return
      if (method === 'initialize') return send({ id, result: { protocolVersion: '2025-11-25',
        capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'changing', version: '1' } } })
      if (method === 'tools/list') return send({ id, result: { tools: [
        { name: 'first', inputSchema, annotations: { readOnlyHint: true } },
        { name: 'second', description: words, inputSchema, annotations: { readOnlyHint: true } },
        { name: 'odd', inputSchema, annotations: { readOnlyHint: true, destructiveHint: true } },
        { name: 'change', inputSchema },
      ] } })
      if (method !== 'tools/call') return send({ id, error: { code: -32601, message: 'unknown' } })
      if (params.name === 'change') {
        words = 'Reads something else'
        send({ method: 'notifications/tools/list_changed' })
      }
      send({ id, result: { content: [{ type: 'text', text: params.name }] } })
    })`,
  ],
}

type Approval = Extract<HostQuestion, { kind: 'approval' }>

const allowReadOnly = ({ readOnlyTools }: Approval): HostAnswers['approval'] => ({
  verdict: 'allow',
  ...(readOnlyTools !== undefined && { remember: { scope: 'conversation', readOnlyTools: true } }),
})

async function hostWithRules(rules = [rule('ask', { scope: 'always' })]) {
  const surface = person({ approval: allowReadOnly })
  const host = await started({ servers: { s: changing, other: { ...changing, cwd: '/' } }, surface, rules })
  return {
    host,
    call: (tool: string, conversation?: string) =>
      host.call(tool, {}, { ...chat, ...(conversation !== undefined && { conversation }) }),
    asked: () =>
      surface.asked.flatMap((one) =>
        one.kind === 'approval' ? [[one.cause.tool, one.readOnlyTools ?? 'not offered']] : [],
      ),
  }
}

const both = ['first', 'second']

describe('a grant for the read-only tools of a server', () => {
  it('allows them in its conversation, and nothing else', async () => {
    const { call, asked } = await hostWithRules()
    for (const tool of ['s__first', 's__second', 's__first']) await call(tool, 'talk')
    expect(asked()).toEqual([['first', both]])
    await call('s__odd', 'talk')
    await call('s__second', 'another talk')
    await call('other__first', 'talk')
    await call('s__first')
    expect(asked().slice(1)).toEqual([
      ['odd', 'not offered'],
      ['second', both],
      ['first', both],
      ['first', 'not offered'],
    ])
  })

  it('is listed once, and can be revoked', async () => {
    const { host, call, asked } = await hostWithRules()
    await call('s__first', 'talk')
    const [grant, ...others] = host.policy.grants()
    expect(others).toEqual([])
    expect(grant).toMatchObject({ server: 's', tool: '*', readOnlyTools: true, within: 'talk' })
    expect(host.policy.explain('s__second', {}, { conversation: 'talk' }).decision.rule).toBe(
      'remembered:conversation',
    )
    expect(host.policy.revoke(grant?.id ?? '')).toBe(true)
    await call('s__second', 'talk')
    expect(asked()).toHaveLength(2)
  })

  it('ends with the conversation', async () => {
    const { host, call, asked } = await hostWithRules()
    await call('s__first', 'talk')
    host.endConversation('talk')
    expect(host.policy.grants()).toEqual([])
    await call('s__first', 'talk')
    expect(asked()).toHaveLength(2)
  })

  it('ends when a definition of the server changes, also after the change is accepted', async () => {
    const { host, call, asked } = await hostWithRules()
    await call('s__first', 'talk')
    const changed = new Promise<void>((resolve) => {
      const stop = host.on((event) => {
        if (event.type !== 'trust') return
        stop()
        resolve()
      })
    })
    await call('s__change', 'talk')
    await changed
    await call('s__first', 'talk')
    expect(asked().at(-1)).toEqual(['first', 'not offered'])
    expect(host.policy.grants()).toEqual([])
    host.trust.accept('s')
    await call('s__first', 'talk')
    expect(asked().at(-1)).toEqual(['first', both])
    expect(asked()).toHaveLength(4)
  })

  it('is not offered where a rule asks every time, and overrides no rule that denies', async () => {
    const every = await hostWithRules([rule('ask')])
    await every.call('s__first', 'talk')
    await every.call('s__first', 'talk')
    expect(every.asked()).toEqual(Array(2).fill(['first', 'not offered']))
    const { call, asked } = await hostWithRules([
      rule('ask', { scope: 'always' }),
      rule('deny', { tool: 'second' }),
    ])
    await call('s__first', 'talk')
    expect(await call('s__second', 'talk')).toMatchObject({ denied: true })
    expect(asked()).toHaveLength(1)
  })
})
