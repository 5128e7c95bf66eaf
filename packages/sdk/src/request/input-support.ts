import type { ClientCapabilities } from '../protocol/definitions.ts'
import { methods } from '../protocol/methods.ts'
import { supports } from '../protocol/revision.ts'
import type { Question } from '../protocol/server-requests.ts'
import type { Peer } from './exchange.ts'

/** A kind of input that a client may support. */
export type InputKind =
  | 'elicitation'
  | 'elicitation.url'
  | 'sampling'
  | 'sampling.tools'
  | 'sampling.context'
  | 'roots'

/** Whether a client declared this kind of input, and its revision has it. */
export function canAsk(peer: Peer, kind: InputKind): boolean {
  const { elicitation, sampling, roots } = peer.capabilities
  const { version } = peer.revision
  switch (kind) {
    case 'elicitation':
      return (
        elicitation !== undefined &&
        version >= methods['elicitation/create'].since &&
        (elicitation.form !== undefined || elicitation.url === undefined)
      )
    case 'elicitation.url':
      return elicitation?.url !== undefined && supports(version, 'urlElicitation')
    case 'sampling':
      return sampling !== undefined
    case 'sampling.tools':
      return sampling?.tools !== undefined && supports(version, 'samplingTools')
    case 'sampling.context':
      return sampling !== undefined && (sampling.context !== undefined || !supports(version, 'samplingTools'))
    case 'roots':
      return roots !== undefined
  }
}

/** The capabilities that a client lacks for a question, for the data of a -32021 error; undefined if it has all. */
export function missingFor(peer: Peer, question: Question): ClientCapabilities | undefined {
  switch (question.method) {
    case 'elicitation/create':
      return question.params.mode === 'url'
        ? unless(canAsk(peer, 'elicitation.url'), { elicitation: { url: {} } })
        : unless(canAsk(peer, 'elicitation'), {
            // A client that declared URLs alone has `elicitation`, and needs its form mode named.
            elicitation: peer.capabilities.elicitation === undefined ? {} : { form: {} },
          })
    case 'sampling/createMessage':
      if (!canAsk(peer, 'sampling')) return { sampling: {} }
      return question.params.tools === undefined && question.params.toolChoice === undefined
        ? undefined
        : unless(canAsk(peer, 'sampling.tools'), { sampling: { tools: {} } })
    case 'roots/list':
      return unless(canAsk(peer, 'roots'), { roots: {} })
  }
}

/** A question without `includeContext`, unless the client declared support for it. */
export function forPeer<Q extends Question>(peer: Peer, question: Q): Q {
  if (question.method !== 'sampling/createMessage' || canAsk(peer, 'sampling.context')) return question
  const { includeContext, ...params } = question.params
  return includeContext === undefined || includeContext === 'none' ? question : { ...question, params }
}

function unless(can: boolean, needed: ClientCapabilities): ClientCapabilities | undefined {
  return can ? undefined : needed
}
