import type { JsonObject, JsonRpcResponse } from '../jsonrpc/message.ts'
import type { Link, LinkFactory } from '../links/link.ts'

/** Links on which every round of questions is entered one extra time, unanswered, before it is answered. */
export function reentering(links: LinkFactory): LinkFactory {
  return () => {
    const link = links()
    let extra = 0
    const request: Link['request'] = async (message, options) => {
      const answer = await link.request(message, options)
      const state = stateOf(answer)
      if (state === undefined) return answer
      const params = { ...message.params, ...state, inputResponses: {} }
      const again = await link.request({ ...message, id: `again-${++extra}`, params }, options)
      return { ...again, id: message.id }
    }
    return {
      kind: link.kind,
      hasHeaders: link.hasHeaders,
      closed: link.closed,
      request,
      start: (events) => link.start(events),
      notify: (message) => link.notify(message),
      respond: (message) => link.respond(message),
      adopt: (version) => link.adopt(version),
      listen: () => link.listen(),
      close: () => link.close(),
    }
  }
}

/** The state of a round that asks; undefined for any other answer. */
function stateOf(answer: JsonRpcResponse): JsonObject | undefined {
  if (!('result' in answer) || answer.result['resultType'] !== 'input_required') return undefined
  const { requestState } = answer.result
  return requestState === undefined ? {} : { requestState }
}
