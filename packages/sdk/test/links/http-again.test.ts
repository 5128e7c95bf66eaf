import { describe, expect, it } from 'vitest'
import { discovered, result, scripted } from '../client/support/http.ts'
import { called, listed } from '../client/support/results.ts'
import { open, text } from './opened.ts'

describe('a request that only reads', () => {
  it('is retried when its connection broke, a tool call is not', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      if (server.of('tools/list').length < 2) one.res.destroy()
      else result(one, listed({ tools: [] }))
    })
    const client = await open(server.url)
    await expect(client.tools()).resolves.toEqual([])
    const before = server.of('tools/call').length
    const broken = await scripted((one) => {
      if (!discovered(one)) one.res.destroy()
    })
    const other = await open(broken.url)
    await expect(other.call('pay')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(broken.of('tools/call')).toHaveLength(1)
    expect(before).toBe(0)
  })
})

describe('a tool call whose response was lost', () => {
  it('has an unknown outcome, and is retried only if its caller declares that safe', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      if (server.of('tools/call').length % 3 === 0) result(one, called(text('done')))
      else one.res.destroy()
    })
    const client = await open(server.url)
    await expect(client.call('pay')).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringContaining('tools/call may have run'),
    })
    expect(server.of('tools/call')).toHaveLength(1)
    await expect(client.call('look', {}, { repeatable: true })).resolves.toMatchObject(text('done'))
    expect(server.of('tools/call')).toHaveLength(3)
  })

  it('is not retried with a response that can be used once', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      if (one.message.params['requestState'] === undefined) {
        result(one, { resultType: 'input_required', requestState: 's' })
      } else one.res.destroy()
    })
    const client = await open(server.url)
    const call = client.call('book', {}, { repeatable: true })
    await expect(call).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(server.of('tools/call')).toHaveLength(2)
  })
})
