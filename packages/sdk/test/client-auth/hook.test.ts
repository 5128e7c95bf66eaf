import { connect, type HttpAuth, http, type Refusal } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { begun, json, result, scripted } from '../client/support/http.ts'

interface Noted extends HttpAuth {
  readonly refusals: Refusal[]
  answers: number
}

/** Credentials that are a number, and one more after every refusal. */
function counting(give: (refusal: Refusal) => boolean = () => true): Noted {
  let count = 0
  return {
    refusals: [],
    answers: 0,
    authorize: async () => ({ authorization: `Bearer ${count}` }),
    async refused(refusal) {
      count++
      this.refusals.push(refusal)
      return give(refusal)
    },
    answered() {
      this.answers++
    },
  }
}

describe('connection credentials', () => {
  it('are requested at most three times for one request', async () => {
    const server = await scripted(({ res }) => json(res, {}, 401, { 'www-authenticate': 'Bearer' }))
    const auth = counting()
    await expect(connect(http(server.url, { auth }))).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      details: { status: 401, challenge: 'Bearer' },
    })
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer 0',
      'Bearer 1',
      'Bearer 2',
      'Bearer 3',
    ])
    expect(auth.refusals.map(({ sent }) => sent['authorization'])).toEqual([
      'Bearer 0',
      'Bearer 1',
      'Bearer 2',
    ])
    expect(auth.answers).toBe(0)
  })

  it('that are rejected permanently leave the response unchanged', async () => {
    const server = await scripted(({ res }) => json(res, { error: 'no' }, 403))
    const auth = counting(() => false)
    await expect(connect(http(server.url, { auth }))).rejects.toThrow(/status 403.*no/)
    expect(server.seen).toHaveLength(1)
  })

  it('are sent with every request of a session, replace a configured header, and are not requested when closing', async () => {
    const server = await scripted((one) => {
      const { method, message, res } = one
      if (method === 'DELETE' || method === 'GET') json(res, {}, 401)
      else if (!begun(one, 's1')) result(one, { tools: [], for: message.method })
    })
    const auth = counting(({ background }) => !background)
    const client = await connect(
      http(server.url, { auth, headers: { authorization: 'Basic x', 'x-y': 'z' } }),
    )
    onTestFinished(() => client.close())
    await client.tools()
    await client.close()
    expect(server.seen.map(({ method }) => method)).toEqual(expect.arrayContaining(['POST', 'GET', 'DELETE']))
    for (const { headers } of server.seen) {
      expect(headers.authorization).toMatch(/^Bearer \d$/)
      expect(headers['x-y']).toBe('z')
    }
    expect(auth.refusals).toMatchObject([{ method: 'GET', background: true, status: 401 }])
    expect(auth.answers).toBeGreaterThanOrEqual(3)
  })

  it('do not follow a redirect to another origin', async () => {
    const other = await scripted(({ res }) => json(res, {}))
    const server = await scripted(({ res }) => res.writeHead(307, { location: other.url }).end())
    await expect(connect(http(server.url, { auth: counting() }))).rejects.toThrow(/another origin/)
    expect(other.seen).toEqual([])
  })
})
