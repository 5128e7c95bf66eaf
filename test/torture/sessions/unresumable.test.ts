import { connect, http } from '@jackfield/sdk/client'
import type { ServeHttpOptions } from '@jackfield/sdk/http'
import { expect, onTestFinished } from 'vitest'
import { nodeAdapter, session } from '../../../packages/sdk/test/serve/http-support.ts'
import { type Tool, testServer, until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'

const revisions = ['2025-03-26', '2025-06-18', '2025-11-25'] as const
const watchdogMs = 60_000

/** Why a stream cannot be resumed, by the last event id that the client sends. */
const reasons: Readonly<
  Record<string, { limits?: ServeHttpOptions['limits']; say?: (id: string) => string }>
> = {
  'was trimmed away': { limits: { storedEvents: 2 } },
  expired: { limits: { storedEventsMs: 1 } },
  'is of another session': { say: () => 'AAAAAAAA-0_1' },
  'is of another stream': { say: (id) => id.replace(/-\d+_/, '-0_') },
  'is still to come': { say: (id) => id.replace(/\d+$/, '999') },
  'is garbage': { say: () => 'garbage' },
}

campaign(
  {
    id: 'unresumable-streams',
    chapter: 'Sessions and streams',
    claim: 'A call whose stream cannot be resumed is reported with unknown outcome, and not repeated',
    trial: 'cut stream whose last event is not known any more',
    trials: { change: 0, long: 0 },
  },
  async (campaignRun) => {
    const cases = Object.keys(reasons).flatMap((why) => revisions.map((revision) => ({ why, revision })))
    await Promise.all(cases.map(({ why, revision }) => tryOne(why, revision)))
    campaignRun.setTrials(cases.length)
  },
)

async function tryOne(why: string, revision: (typeof revisions)[number]): Promise<void> {
  const { limits = {}, say = (id: string) => id } = reasons[why] ?? {}
  const where = `${why}, on ${revision}`
  const { promise: cut, resolve: wasCut } = Promise.withResolvers<void>()
  const count: Tool = async (_args, { notify }) => {
    const progress = (progress: number): void =>
      notify({ method: 'notifications/progress', params: { progressToken: 1, progress } })
    for (let at = 1; at <= 3; at++) progress(at)
    await cut
    for (let at = 4; at <= 10; at++) progress(at)
    return 'answer'
  }
  const server = testServer({ count })
  const mounted = await nodeAdapter(server, { limits })
  onTestFinished(() => mounted.close())
  await session(mounted, revision)

  const refusals: number[] = []
  const send = async (to: string | URL, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers)
    const last = headers.get('last-event-id')
    if (last !== null) headers.set('last-event-id', say(last))
    const response = await fetch(to, { ...init, headers })
    if (last !== null) refusals.push(response.status)
    return String(init.body).includes('"tools/call"') ? cutAfter(response, 2, wasCut) : response
  }
  const client = await connect(http(mounted.url, { fetch: send }), { revisions: [revision] })
  const called = client.call('count', {}, { onProgress: () => {} })
  await expect(called, where).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  await until(() => refusals.length > 0, watchdogMs)
  expect(refusals, where).toEqual([400])
  expect(server.ran, where).toEqual(['count'])
  await client.close()
}

/** An answer that breaks off after so many whole messages. */
function cutAfter(response: Response, messages: number, onCut: () => void): Response {
  const { body, headers, status } = response
  if (body === null) return response
  let text = ''
  const decoder = new TextDecoder()
  const cutting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      text += decoder.decode(chunk, { stream: true })
      const events = text.split('\n\n')
      const whole = events.filter((event) => event.includes('"jsonrpc"')).length
      if (whole <= messages) return
      const replayed = events.slice(
        0,
        events.findLastIndex((event) => event.includes('"jsonrpc"')),
      )
      controller.enqueue(new TextEncoder().encode(`${replayed.join('\n\n')}\n\n`))
      setImmediate(() => {
        controller.error(new TypeError('The connection broke'))
        onCut()
      })
    },
  })
  return new Response(body.pipeThrough(cutting), { headers, status })
}
