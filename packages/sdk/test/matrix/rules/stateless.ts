import { MetaKey, protocolVersions } from '@jackfield/sdk'
import { expect } from 'vitest'
import { type Rule, revisionsOf, sessions, stateless } from '../rule.ts'
import { resultsOf } from '../scripted-server.ts'
import { at, part, requests } from '../transcript.ts'

/** The `_meta` of every request of 2026-07-28, and how both sides agree on a revision. */
export const statelessRules: readonly Rule[] = [
  {
    title: 'every request has its version, client and capabilities',
    ...stateless,
    async holds(cell) {
      const all = requests(await cell.everything(), 'client')
      expect(all.length).toBeGreaterThan(40)
      for (const request of all) {
        const meta = part(request, 'params', '_meta')
        expect(meta[MetaKey.protocolVersion]).toBe(cell.version)
        expect(meta[MetaKey.clientInfo]).toEqual({ name: 'talker', version: '1.0.0' })
        expect(meta[MetaKey.clientCapabilities]).toEqual({
          elicitation: { form: {}, url: {} },
          sampling: { tools: {} },
          roots: {},
        })
      }
    },
  },
  {
    title: 'a request without a valid version or capabilities is rejected',
    ...stateless,
    async holds(cell) {
      cell.faulty('its requests lack what they must say')
      const raw = await cell.raw()
      for (const meta of [
        { [MetaKey.clientCapabilities]: undefined },
        { [MetaKey.clientCapabilities]: 'all' },
        { [MetaKey.clientInfo]: 'nameless' },
      ]) {
        expect(await raw.send('tools/list', {}, { meta })).toMatchObject({ error: { code: -32602 } })
      }
    },
  },
  {
    title: 'the response to an unsupported version has the supported ones',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw()
      const requested = '2099-01-01'
      const { error } = await raw.send('tools/list', {}, { meta: { [MetaKey.protocolVersion]: requested } })
      expect(error).toMatchObject({ code: -32022, data: { requested } })
      expect(at(error, 'data', 'supported')).toContain('2026-07-28')
    },
  },
  {
    title: 'server/discover returns revisions, capabilities and instructions',
    ...revisionsOf('server/discover'),
    async holds(cell) {
      const raw = await cell.raw()
      expect(await raw.ask('server/discover')).toMatchObject({
        supportedVersions: expect.arrayContaining(['2026-07-28']),
        capabilities: { tools: {}, prompts: {}, resources: {} },
        instructions: 'Do as the rules say.',
      })
    },
  },
  {
    title: 'a client of both eras sends server/discover first, and starts a session if that is unknown',
    async holds(cell) {
      const { called } = resultsOf(cell.version)
      const { client, received } = await cell.connectToScript(
        {
          methods: {
            ...(!cell.stateless && {
              'server/discover': () => ({ error: { code: -32601, message: 'Method not found' } }),
            }),
            'tools/call': () => called('met'),
          },
        },
        { revisions: protocolVersions.filter((one) => one <= cell.version || one === '2026-07-28') },
      )
      for (const name of ['one', 'two']) await client.call(name)
      const methods = received.map((one) => at(one, 'method'))
      const handshake = cell.stateless ? [] : ['initialize', 'notifications/initialized']
      expect(methods).toEqual(['server/discover', ...handshake, 'tools/call', 'tools/call'])
    },
  },
  {
    title: 'the fallback to initialize does not depend on one error code',
    ...sessions,
    async holds(cell) {
      for (const code of [-32602, 404]) {
        const { client } = await cell.connectToScript(
          { methods: { 'server/discover': () => ({ error: { code, message: 'What?' } }) } },
          { revisions: protocolVersions.filter((one) => one <= cell.version || one === '2026-07-28') },
        )
        expect(client.server.revision).toBe(cell.version)
        await client.close()
      }
    },
  },
  {
    title: 'a client that gets the supported versions uses one of them, or reports that there is none',
    ...stateless,
    async holds(cell) {
      let asked = 0
      const refusal = (supported: string[]) => ({
        error: { code: -32022, message: 'Unsupported', data: { supported, requested: cell.version } },
      })
      const { client } = await cell.connectToScript({
        methods: {
          'server/discover': () =>
            ++asked === 1
              ? refusal([cell.version])
              : {
                  resultType: 'complete',
                  supportedVersions: [cell.version],
                  capabilities: {},
                  ttlMs: 0,
                  cacheScope: 'private',
                },
        },
      })
      expect(client.server.revision).toBe(cell.version)
      const older = await cell.serveScript({
        methods: { 'server/discover': () => refusal(['2025-11-25']) },
      })
      await expect(older.connect()).rejects.toMatchObject({
        code: 'VERSION_MISMATCH',
        message: expect.stringMatching(/2025-11-25.*2026-07-28/),
      })
      expect(older.received.map((one) => at(one, 'method'))).toEqual(['server/discover'])
    },
  },
  {
    title: 'metadata of one request does not affect a later or concurrent one',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw()
      const seen = async (name: string, capabilities: object, more: object): Promise<unknown> => {
        const meta = { [MetaKey.clientInfo]: { name, version: '1' }, ...more }
        return JSON.parse(await raw.call('seen', {}, { capabilities: { ...capabilities }, meta }))
      }
      const all = await Promise.all([
        seen('one', { roots: {} }, { [MetaKey.logLevel]: 'debug' }),
        seen('two', {}, {}),
        seen('three', { sampling: {} }, { [MetaKey.logLevel]: 'error' }),
        seen('four', {}, {}),
      ])
      expect(all).toMatchObject([
        { info: { name: 'one' }, capabilities: { roots: {} }, logLevel: 'debug' },
        { info: { name: 'two' }, capabilities: {} },
        { info: { name: 'three' }, capabilities: { sampling: {} }, logLevel: 'error' },
        { info: { name: 'four' }, capabilities: {} },
      ])
      expect(all[1]).not.toHaveProperty('logLevel')
      expect(at(all[3], 'capabilities')).toEqual({})
    },
  },
  {
    title: 'the names of client and server change no behaviour, on either side',
    async holds(cell) {
      const answers = new Set<string>()
      for (const name of ['claude-ai', 'admin']) {
        const { client } = await cell.connect({ info: { name, version: '9' } })
        const seen: unknown = JSON.parse(String(at((await client.call('seen')).content, 0, 'text')))
        expect(at(seen, 'info', 'name')).toBe(name)
        const { meta: _meta, info: _info, ...rest } = part(seen)
        answers.add(JSON.stringify(rest))
      }
      expect(answers.size).toBe(1)
      const talks: unknown[] = []
      for (const name of ['claude-ai', 'jackfield']) {
        const serverInfo = { name, version: '1' }
        const { called, listed } = resultsOf(cell.version)
        const tools = [{ name: 'any', inputSchema: { type: 'object' } }]
        const _meta = cell.stateless ? { _meta: { [MetaKey.serverInfo]: serverInfo } } : {}
        const { client, received } = await cell.connectToScript({
          methods: {
            ...(!cell.stateless && {
              initialize: () => ({
                protocolVersion: cell.version,
                capabilities: { tools: {} },
                serverInfo,
              }),
            }),
            'tools/list': () => listed({ tools, ..._meta }),
            'tools/call': () => called('done', _meta),
          },
        })
        await client.tools()
        await client.call('any')
        talks.push(received)
      }
      expect(talks[1]).toEqual(talks[0])
    },
  },
]
