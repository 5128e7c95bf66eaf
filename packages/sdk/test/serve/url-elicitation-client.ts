import { type Answer, type Ask, type Mounted, session } from './http-support.ts'
import { until } from './support.ts'

/** A session whose client supports URL elicitation, and the notifications it receives. */
export interface UrlElicitationClient {
  readonly stream: Answer
  /** Calls a tool that elicits by URL, accepts, and returns the id of the elicitation. */
  elicit(tool: string): Promise<unknown>
  end(): Promise<Answer>
}

/** Begins a session of 2025-11-25 of a client with URL elicitation. */
export async function urlElicitationClient(
  mounted: Pick<Mounted, 'send'>,
  headers: Ask['headers'] = {},
  watchdogMs = 20_000,
): Promise<UrlElicitationClient> {
  const { call, post, get, end } = await session(mounted, '2025-11-25', headers, { elicitation: { url: {} } })
  const stream = await get()
  let calls = 0
  const elicit = async (tool: string): Promise<unknown> => {
    const answer = await call(++calls, tool)
    await until(() => answer.messages().length === 1, watchdogMs)
    const { id, params } = answer.messages()[0] ?? {}
    await post({ jsonrpc: '2.0', id, result: { action: 'accept' } })
    await answer.text()
    return Object(params)['elicitationId']
  }
  return { stream, elicit, end }
}
