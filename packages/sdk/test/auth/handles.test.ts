import { describe, expect, test } from 'vitest'
import { adapters, modern, session } from '../serve/http-support.ts'
import { as, authenticated, metadataUrl, mounted, readChallenges, shop, tokenOf } from './support.ts'

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami' } }

describe.each(adapters)('over the %s adapter, without a token', (_adapter, mount) => {
  test('the id of a session gives no access', async () => {
    const { server } = shop()
    const all = await mounted(mount, server, { authenticate: authenticated() })
    const mine = await session(all, '2025-11-25', as(await tokenOf()))
    const none = { authorization: undefined }
    const answers = [
      await mine.post(call, none),
      await mine.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, none),
      await mine.get(none),
      await mine.get({ ...none, 'last-event-id': 'a-1_1' }),
      await mine.send({ method: 'DELETE', headers: none }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
    for (const answer of answers) {
      expect(readChallenges(answer.header('www-authenticate') ?? '')).toMatchObject([
        { params: { resource_metadata: metadataUrl } },
      ])
    }
    expect((await mine.call(2, 'whoami')).status).toBe(200)
  })

  test('the state of a request gives no access', async () => {
    const { server, ran } = shop()
    const { send } = await mounted(mount, server, { authenticate: authenticated() })
    const headers = as(await tokenOf())
    const asked = await (await send(modern('tools/call', { name: 'sure' }, headers))).json()
    const { requestState, inputRequests } = Object(asked['result'])
    const [key = ''] = Object.keys(inputRequests)
    const inputResponses = { [key]: { action: 'accept', content: { ok: true } } }
    const retry = { name: 'sure', requestState, inputResponses }
    expect((await send(modern('tools/call', retry))).status).toBe(401)
    expect(ran).toEqual([])
    expect((await send(modern('tools/call', retry, headers))).status).toBe(200)
    expect(ran).toEqual(['sure accept'])
  })

  test('only the metadata of the resource is served', async () => {
    const { server } = shop()
    const { send } = await mounted(mount, server, { authenticate: authenticated() })
    for (const method of ['server/discover', 'tools/list', 'prompts/list', 'resources/list']) {
      const answer = await send(modern(method))
      expect(answer.status).toBe(401)
      expect(await answer.text()).not.toContain('shop')
    }
  })
})
