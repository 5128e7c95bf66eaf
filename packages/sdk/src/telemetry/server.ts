import { type Attributes, type Context, context, type Link, ROOT_CONTEXT } from '@opentelemetry/api'
import type { Asking, Exchange, Outcome } from '../core/exchange.ts'
import { type LiveRequest, live } from '../core/live.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Middleware } from '../server/server.ts'
import { extracted, injected, spanIn } from './carrier.ts'
import { clientFailure, serverFailure, stopped } from './failure.ts'
import { isFollowed } from './followed.ts'
import type { Recorder, Recording } from './recorder.ts'

/** Follows every request a server serves: a part of the client's trace, with the questions it asks back inside. */
export function serverLayer(recorder: Recorder): Middleware {
  return async (exchange, next) => {
    if (!isFollowed(exchange.method)) return next(exchange)
    const recording = recorder.begin({ side: 'server', ...factsOf(exchange), ...originOf(exchange) })
    const asking = followedAsking(recorder, recording, exchange)
    try {
      const outcome = await context.with(recording.context, next, undefined, { ...exchange, asking })
      if (exchange.signal.aborted) recording.failed(stopped(exchange))
      else recording.done(outcome.type === 'complete' ? outcome.result : {}, typeOf(outcome))
      return outcome
    } catch (error) {
      recording.failed(
        exchange.signal.aborted ? stopped(exchange) : serverFailure(error, exchange.peer.revision),
      )
      throw error
    }
  }
}

function factsOf({ id, method, params, peer, transport, session }: Exchange) {
  return { id, method, params, revision: peer.revision.version, transport, session: session?.id }
}

/** The request's own `_meta` names the parent; what this side is in already is a link. */
function originOf({ params }: Exchange) {
  const active = context.active()
  const meta = isObject(params['_meta']) ? params['_meta'] : {}
  const remote = extracted(ROOT_CONTEXT, meta)
  if (spanIn(remote) === undefined) return { parent: extracted(active, meta) }
  const around = spanIn(active)
  const links: Link[] = around === undefined ? [] : [{ context: around }]
  return { parent: remote, links }
}

/** A round that asks is over like any other, and nothing failed. */
function typeOf(outcome: Outcome): Attributes {
  switch (outcome.type) {
    case 'complete':
      return {}
    case 'input_required': {
      const methods = Object.values(outcome.requests).map(({ method }) => method)
      return { 'jackfield.result.type': outcome.type, 'jackfield.questions': [...new Set(methods)] }
    }
    case 'extension':
      return { 'jackfield.result.type': outcome.resultType }
  }
}

/** Questions on a live connection are requests of their own, inside the one they are about. */
function followedAsking(recorder: Recorder, around: Recording, exchange: Exchange): Asking {
  const { relay } = exchange.asking
  if (relay === undefined) return exchange.asking
  const ask: LiveRequest = async (method, params, options) => {
    const { revision, transport, session } = factsOf(exchange)
    const parent = around.context
    const recording = recorder.begin({ side: 'client', method, params, parent, revision, transport, session })
    try {
      const answer = await relay(method, carrying(params, recording.context), options)
      recording.done({})
      return answer
    } catch (error) {
      recording.failed(clientFailure(error))
      throw error
    }
  }
  return live(ask)
}

/** Params that lead the other side to a context; the very same ones where nothing carries it. */
function carrying(params: JsonObject, from: Context): JsonObject {
  const carried = injected(from)
  if (Object.keys(carried).length === 0) return params
  return { ...params, _meta: { ...(isObject(params['_meta']) ? params['_meta'] : {}), ...carried } }
}
