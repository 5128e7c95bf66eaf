import { type Context, context } from '@opentelemetry/api'
import type { ClientTelemetry, TelemetryRequest, TelemetrySpan } from '../client/telemetry.ts'
import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { MetaKey } from '../protocol/meta.ts'
import { transportOf } from './attributes.ts'
import { extracted, injected } from './carrier.ts'
import { clientFailure } from './failure.ts'
import { isFollowed } from './followed.ts'
import type { Recorder, Recording } from './recorder.ts'

/** Follows every request a client sends, and every question it answers. */
export function clientSide(recorder: Recorder): ClientTelemetry {
  return {
    begin(request) {
      if (!isFollowed(request.method)) return undefined
      const { by, method, params, session } = request
      const recording = recorder.begin({
        side: by,
        method,
        params,
        parent: parentOf(request),
        revision: revisionOf(request),
        transport: transportOf(request.transport),
        session,
      })
      return new Followed(recording, by === 'client' ? injected(recording.context) : {})
    },
  }
}

class Followed implements TelemetrySpan {
  readonly meta: Readonly<JsonObject>
  readonly #recording: Recording

  constructor(recording: Recording, meta: Readonly<JsonObject>) {
    this.#recording = recording
    this.meta = meta
  }

  get context(): Context {
    return this.#recording.context
  }

  sent(id: RequestId): void {
    this.#recording.sent(id)
  }

  run<T>(work: () => T): T {
    return context.with(this.#recording.context, work)
  }

  end(outcome: { readonly result: Readonly<JsonObject> } | { readonly error: unknown }): void {
    if ('error' in outcome) this.#recording.failed(clientFailure(outcome.error))
    else this.#recording.done(outcome.result)
  }
}

/** A question that says where it comes from is a part of that; anything else of what it was made for. */
function parentOf({ by, params, parent }: TelemetryRequest): Context {
  const around = parent instanceof Followed ? parent.context : context.active()
  const meta = params['_meta']
  return by === 'server' && isObject(meta) ? extracted(around, meta) : around
}

/** Before a revision is agreed, the greeting itself says which one is spoken. */
function revisionOf({ revision, params }: TelemetryRequest): string | undefined {
  if (revision !== undefined) return revision
  const { protocolVersion, _meta: meta } = params
  const named = isObject(meta) ? (meta[MetaKey.protocolVersion] ?? protocolVersion) : protocolVersion
  return typeof named === 'string' ? named : undefined
}
