import { type Answer, type Ask, type Mounted, session } from './http-support.ts'
import { until } from './support.ts'

/** A session whose client supports URL elicitation, and the notifications it receives. */
export interface Visitor {
  readonly stream: Answer
  /** Calls a tool that sends the client to a URL, and says that it goes; gives the id of the visit. */
  visit(tool: string): Promise<unknown>
  end(): Promise<Answer>
}

/** Begins a session of 2025-11-25 of a client that can be sent to URLs. */
export async function visitor(
  mounted: Pick<Mounted, 'send'>,
  headers: Ask['headers'] = {},
  watchdogMs = 20_000,
): Promise<Visitor> {
  const { call, post, get, end } = await session(mounted, '2025-11-25', headers, { elicitation: { url: {} } })
  const stream = await get()
  let visits = 0
  const visit = async (tool: string): Promise<unknown> => {
    const answer = await call(++visits, tool)
    await until(() => answer.messages().length === 1, watchdogMs)
    const { id, params } = answer.messages()[0] ?? {}
    await post({ jsonrpc: '2.0', id, result: { action: 'accept' } })
    await answer.text()
    return Object(params)['elicitationId']
  }
  return { stream, visit, end }
}
