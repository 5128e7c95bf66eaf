import type { ProtocolVersion } from '@jackfield/sdk'
import type { Client, ConnectOptions } from '@jackfield/sdk/client'
import { connect } from '../../../packages/sdk/src/client/index.ts'
import { protocolVersions } from '../../../packages/sdk/src/protocol/methods.ts'
import { checkWire } from '../../../packages/sdk/test/schema/wire.ts'
import { isObject } from '../../setup/json.ts'
import { changesOf, Differences, print } from './schema-differences.ts'
import { type SchemaPeer, schemaPeer } from './schema-peer.ts'
import { questions } from './schema-questions.ts'
import { results } from './schema-results.ts'

// Mutates every place of every question that a server may send to a client, in every revision, and prints where our client and
// the official schema of the revision do not agree on whether it can be answered.

const stateless = '2026-07-28'
const internalError = -32603
const asked = new Differences('question')

const answering: ConnectOptions = {
  elicitation: { form: true, url: true },
  sampling: { tools: true, context: true, unrelated: true },
  onElicit: () => ({ action: 'decline' }),
  onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'said' }, model: 'm' }),
  onRoots: [{ uri: 'file:///home' }],
}

for (const revision of protocolVersions) {
  const right = results(revision)
  const peer = schemaPeer((method) => ({ result: right[method] }))
  const client = await connect(peer.link, { ...answering, revisions: [revision] })
  for (const { method, params } of questions(revision)) {
    if (faults(revision, { method, params }).length > 0) continue
    for (const change of changesOf({ method, params })) {
      const wrong = faults(revision, change.changed).length > 0
      const refused =
        revision === stateless
          ? await isCallRefused(client, peer, roundOf(change.changed), right)
          : await isRefused(peer, change.changed)
      asked.note(revision, method, change, { wrong, refused })
    }
  }
  if (revision === stateless) {
    for (const change of changesOf(roundOf({ method: 'roots/list', params: {} }))) {
      const answer = { jsonrpc: '2.0', id: 1, result: change.changed }
      const wrong = checkWire(revision, 'server', answer, 'tools/call').length > 0
      const refused = await isCallRefused(client, peer, change.changed, right)
      asked.note(revision, 'input_required', change, { wrong, refused })
    }
  }
  await client.close()
}
await print(asked)

/** A question as it is sent: a request of its own in a session, otherwise one of those in a result. */
function faults(revision: ProtocolVersion, question: object): string[] {
  return revision === stateless
    ? checkWire(revision, 'server', { jsonrpc: '2.0', id: 1, result: roundOf(question) }, 'tools/call')
    : checkWire(revision, 'server', { jsonrpc: '2.0', id: 1, ...question })
}

function roundOf(question: object): object {
  return { resultType: 'input_required', inputRequests: { q: question }, requestState: 's' }
}

/** Whether the client answers with an error, and one that is about the question. */
async function isRefused(peer: SchemaPeer, question: object): Promise<boolean> {
  const received: object[] = []
  peer.receive = (message) => received.push(message)
  peer.send({ jsonrpc: '2.0', id: 'asked', ...question })
  for (let left = 20; left > 0 && received.length === 0; left--)
    await new Promise((resolve) => setImmediate(resolve))
  const [answer] = received
  if (!isObject(answer)) return true
  return isObject(answer['error']) && answer['error']['code'] !== internalError
}

/** Whether a call that is answered with questions ends before they are answered. */
async function isCallRefused(
  client: Client,
  peer: SchemaPeer,
  round: object,
  right: Readonly<Record<string, object>>,
): Promise<boolean> {
  let rounds = 0
  peer.answer = (method) => ({ result: rounds++ === 0 ? round : right[method] })
  return client.call('other').then(
    () => false,
    () => true,
  )
}
