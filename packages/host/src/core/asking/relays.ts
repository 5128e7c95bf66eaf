import {
  type CreateMessageParams,
  type CreateMessageResult,
  type ElicitParams,
  type ElicitResult,
  ErrorCode,
  type Root,
  RpcError,
} from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import type { Found, Origins } from '../active-requests.ts'
import type { ServerAnswers } from './answers.ts'

/**
 * Clients of this host's gateway, who answer what is asked on account of their own requests. Where it is not certain
 * whose request a question belongs to, or that client cannot answer, each gives undefined, and the question is the person's.
 */
export interface Relays {
  /** Whether there may be such clients, so that servers are told that somebody answers. */
  readonly open: boolean
  elicit(params: ElicitParams, found: Found, signal: AbortSignal): Promise<ElicitResult> | undefined
  sample(
    params: CreateMessageParams,
    found: Found,
    signal: AbortSignal,
  ): Promise<CreateMessageResult> | undefined
  roots(found: Found, signal: AbortSignal): Promise<Root[]> | undefined
}

/** The answers of a host whose gateway's clients are asked first. */
export function relayed(
  answers: ServerAnswers,
  server: string,
  { relays, origins }: { relays: Relays; origins: Origins },
): ServerAnswers {
  const found = ({ cause }: AskContext, within = true): Found => origins.find(server, cause, within)
  const now: ServerAnswers['now'] = () => {
    const own = answers.now()
    if (!relays.open) return own
    return {
      ...own,
      onElicit: (params, context) =>
        relays.elicit(params, found(context), context.signal) ??
        answers.now().onElicit?.(params, context) ??
        nobody(),
      elicitation: { form: true, url: true },
      onSample: (params, context) =>
        relays.sample(params, found(context), context.signal) ??
        answers.now().onSample?.(params, context) ??
        nobody(),
      sampling: { tools: true, context: true },
      onRoots: (context) => {
        const { onRoots } = answers.now()
        // Sessions ask for folders at any time and keep them: only what the transport says binds that to a client.
        const asked = relays.roots(found(context, false), context.signal)
        return asked ?? (typeof onRoots === 'function' ? onRoots(context) : (onRoots ?? []))
      },
    }
  }
  return { ...answers, now }
}

function nobody(): never {
  throw new RpcError(ErrorCode.InternalError, 'The question could not be shown to anybody')
}
