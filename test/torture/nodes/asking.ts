import type { JsonObject } from '../../../packages/sdk/src/jsonrpc/message.ts'
import { MetaKey } from '../../../packages/sdk/src/protocol/meta.ts'
import { modern } from '../../../packages/sdk/test/serve/http-support.ts'
import { meta } from '../../../packages/sdk/test/serve/support.ts'
import { as, type Sending } from '../sessions/attacks.ts'

/** A payment that was begun, and the answer that would let it happen. */
export interface Payment {
  readonly tool: 'pay' | 'payMuch'
  readonly order: string
  readonly state: string
  readonly inputResponses: JsonObject
}

const _meta = meta({ [MetaKey.clientCapabilities]: { elicitation: { form: {} } } })

/** Begins a payment, as Alice, and accepts what is asked. */
export async function asked(
  node: Sending,
  tool: Payment['tool'],
  order: string,
  path = '/mcp',
): Promise<Payment> {
  const params = { _meta, name: tool, arguments: { order } }
  const answer = await (await node.send({ ...modern('tools/call', params, as('alice')), path })).json()
  const { requestState, inputRequests } = Object(answer['result'])
  if (typeof requestState !== 'string') throw new Error(`Nothing was asked: ${JSON.stringify(answer)}`)
  const [key = ''] = Object.keys(inputRequests)
  return {
    tool,
    order,
    state: requestState,
    inputResponses: { [key]: { action: 'accept', content: { ok: true } } },
  }
}

/** Answers what was asked, or something that is not quite that. */
export async function answered(
  node: Sending,
  { tool, order, state, inputResponses }: Omit<Payment, 'tool'> & { tool: string },
  who = 'alice',
): Promise<JsonObject> {
  const params = { _meta, name: tool, arguments: { order }, requestState: state, inputResponses }
  return (await node.send(modern('tools/call', params, as(who)))).json()
}
