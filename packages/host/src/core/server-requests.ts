import {
  type CreateMessageParams,
  type CreateMessageResult,
  type ElicitParams,
  type ElicitResult,
  type ElicitUrlParams,
  ErrorCode,
  type Root,
  RpcError,
} from '@jackfield/sdk'
import type { AnswerOptions, AskContext, Client } from '@jackfield/sdk/client'
import { marksIn, restoreMarks, type SecretRedactor } from '../config/secrets/redactor.ts'
import type { Recorder } from '../log/store/activity-log.ts'
import type { FormTable } from '../log/store/answer-tables.ts'
import { StoreError } from '../log/store/store-error.ts'
import type { Sampling } from '../models/sampling/sampling.ts'
import type { Roots } from '../servers/roots/roots.ts'
import { isRecord } from '../shared/json.ts'
import { oneLine } from '../shared/text.ts'
import type { ServerConfig } from '../types/index.ts'
import type { ActiveRequests, RequestOrigin } from './active-requests.ts'
import { createElicitationHandler, PendingUrlElicitations } from './elicitation.ts'
import { secretFields } from './forms/form.ts'
import type { QuestionQueue } from './inbox/question-queue.ts'

/** Handlers for the requests of one server. */
export interface ServerRequestHandlers {
  /** The handlers that attached surfaces support, which are the advertised capabilities. */
  now(): AnswerOptions
  /** All handlers, for resumed calls, whose questions may have been answered elsewhere. */
  forSuspendedCalls(): AnswerOptions
  /** The server completed a URL elicitation. */
  urlElicitationComplete(id: string): void
  /**
   * Asks for the URLs that a failed request requires; true if the user accepted them all, so that the request can be
   * retried.
   */
  openRequiredUrls(error: unknown, context: AskContext): Promise<boolean>
}

type Handler<K extends 'onElicit' | 'onSample' | 'onRoots'> = Extract<
  AnswerOptions[K],
  (...given: never[]) => unknown
>

export function createServerRequestHandlers(server: string, deps: ServerRequestDeps): ServerRequestHandlers {
  const { questions, sampling, roots } = deps
  const pendingUrls = new PendingUrlElicitations()
  const elicit = createElicitationHandler(server, deps, pendingUrls)
  /** The server gets an error for a question that cannot be recorded; only the user can fix that. */
  const track = <T>(work: () => Promise<T>): Promise<T> =>
    deps.track(work).catch((error: unknown) => {
      if (error instanceof StoreError)
        deps.warn(`A question of ${oneLine(server)} was refused. ${error.message}`)
      throw error
    })
  const onElicit: Handler<'onElicit'> = (params, context) => track(() => elicit(params, context))
  const onRoots: Handler<'onRoots'> = (context) => track(() => roots.answer(server, context))
  const onSample: Handler<'onSample'> = (params, context) =>
    track(() => sampling.answer(server, params, context))
  return {
    now: () => ({
      ...(questions.canAsk('elicitation') && {
        onElicit,
        elicitation: { form: true, url: questions.canOpenUrls },
      }),
      ...(sampling.canAnswer(server) && { onSample, sampling: { tools: true, context: true } }),
      ...(roots.canAnswer(server) && { onRoots }),
    }),
    forSuspendedCalls: () => ({ onElicit, elicitation: { form: true, url: true }, onRoots }),
    urlElicitationComplete: (id) => pendingUrls.complete(id),
    openRequiredUrls: async (error, context) => {
      const urls = questions.canOpenUrls ? requiredUrls(error) : []
      // If the user cannot be asked, the request fails with the server's error.
      const answers = await Promise.all(urls.map((params) => onElicit(params, context))).catch(() => [])
      return answers.length > 0 && answers.every(({ action }) => action === 'accept')
    },
  }
}

/** Dependencies of the handlers. */
export interface ServerRequestDeps {
  questions: QuestionQueue
  sampling: Sampling
  roots: Roots
  activeRequests: ActiveRequests
  recorder: Recorder
  forms: {
    config: ServerConfig
    /** The server's identity. */
    identity: () => string
    /** Stored answers. */
    table: FormTable
    /** Opens a page for the user. Default: their browser. */
    open?: ((url: URL) => Promise<void>) | undefined
  }
  /** Shows a warning about the server to the user. */
  warn(message: string): void
  /** The host closes its store only after this work ended. */
  track<T>(work: () => Promise<T>): Promise<T>
}

/** Maximum URLs that one error may require. */
const maxRequiredUrls = 8

/** The required URLs of an error `UrlElicitationRequired` (2025-11-25); none for any other error. */
function requiredUrls(error: unknown): ElicitUrlParams[] {
  if (!(error instanceof RpcError) || error.code !== ErrorCode.UrlElicitationRequired) return []
  const elicitations = isRecord(error.data) ? error.data['elicitations'] : undefined
  if (!Array.isArray(elicitations) || elicitations.length > maxRequiredUrls) return []
  const params = elicitations.flatMap((elicitation: unknown): ElicitUrlParams[] => {
    if (!isRecord(elicitation)) return []
    const { mode, message, url, elicitationId } = elicitation
    if (mode !== 'url' || typeof message !== 'string' || typeof url !== 'string') return []
    return [{ mode, message, url, ...(typeof elicitationId === 'string' && { elicitationId }) }]
  })
  // A retry with only some of them would fail again.
  return params.length === elicitations.length ? params : []
}

const capabilityNames = {
  onElicit: 'questions of servers (elicitation)',
  onSample: 'requests for a model (sampling)',
  onRoots: 'requests for folders (roots)',
} as const
const kinds = ['onElicit', 'onSample', 'onRoots'] as const

/**
 * The capabilities declared to one server. On 2026-07-28 every request has them; a session gets them once in `initialize`, so the
 * user is warned if a surface attached later adds some.
 */
export class AdvertisedCapabilities {
  readonly handlers: ServerRequestHandlers
  readonly #warn: (message: string) => void
  #advertised: AnswerOptions = {}

  constructor(handlers: ServerRequestHandlers, warn: (message: string) => void) {
    this.handlers = handlers
    this.#warn = warn
  }

  /** The capabilities for a new connection. */
  advertise(): AnswerOptions {
    this.#advertised = this.handlers.now()
    return this.#advertised
  }

  /** Surfaces were attached or detached. */
  changed(client: Client | undefined): void {
    if (client === undefined) return
    const now = this.handlers.now()
    // The capabilities of a session are fixed; its handlers look up the current surfaces.
    client.setAnswers(now)
    if (client.server.era === 'stateless') return
    const added = kinds.filter((kind) => now[kind] !== undefined && this.#advertised[kind] === undefined)
    if (added.length === 0) return
    const missing = added.map((kind) => capabilityNames[kind]).join(', ')
    this.#warn(
      `The server was started without support for ${missing}, which is available now; reconnect it to use it.`,
    )
  }
}

/**
 * The handlers with secrets redacted from questions: a server may quote one it received. Values typed into secret fields are
 * added to the redactor.
 */
export function withRedaction(
  answers: ServerRequestHandlers,
  redactor: SecretRedactor,
): ServerRequestHandlers {
  const redacted = (handlers: AnswerOptions): AnswerOptions => {
    const { onElicit, onSample } = handlers
    return {
      ...handlers,
      ...(typeof onElicit === 'function' && {
        onElicit: async (params, context) => {
          const shown = redactor.value(params)
          const answer = await onElicit(shown, context)
          const unredacted = shown === params ? answer : withSecrets(answer, params, redactor)
          learnSecrets(unredacted, params, redactor)
          return unredacted
        },
      }),
      ...(typeof onSample === 'function' && {
        onSample: (params, context) => onSample(redactor.value(params), context),
      }),
    }
  }
  return {
    ...answers,
    now: () => redacted(answers.now()),
    forSuspendedCalls: () => redacted(answers.forSuspendedCalls()),
  }
}

/** The server's own texts in its form are returned unchanged. */
function withSecrets(answer: ElicitResult, params: ElicitParams, redactor: SecretRedactor): ElicitResult {
  const { content } = answer
  return content === undefined
    ? answer
    : { ...answer, content: restoreMarks(content, marksIn(params, redactor)) }
}

function learnSecrets({ content = {} }: ElicitResult, params: ElicitParams, redactor: SecretRedactor): void {
  const secret = secretFields(params)
  for (const [key, value] of Object.entries(content)) {
    if (!secret.has(key) || (typeof value !== 'string' && typeof value !== 'number')) continue
    redactor.addMember(key, value)
    redactor.add(String(value), key)
  }
}

/**
 * Clients of this host's gateway, which answer input requests caused by their own requests. If the cause is uncertain or the
 * client cannot answer, each returns undefined, and the user is asked.
 */
export interface Relays {
  /** Whether such clients are possible, so that the capabilities are declared. */
  readonly open: boolean
  elicit(params: ElicitParams, origin: RequestOrigin, signal: AbortSignal): Promise<ElicitResult> | undefined
  sample(
    params: CreateMessageParams,
    origin: RequestOrigin,
    signal: AbortSignal,
  ): Promise<CreateMessageResult> | undefined
  roots(origin: RequestOrigin, signal: AbortSignal): Promise<Root[]> | undefined
}

/** Handlers that ask gateway clients first. */
export function withRelays(
  answers: ServerRequestHandlers,
  server: string,
  { relays, origins }: { relays: Relays; origins: ActiveRequests },
): ServerRequestHandlers {
  const originOf = ({ cause }: AskContext, within = true): RequestOrigin =>
    origins.find(server, cause, within)
  const now: ServerRequestHandlers['now'] = () => {
    const current = answers.now()
    if (!relays.open) return current
    return {
      ...current,
      onElicit: (params, context) =>
        relays.elicit(params, originOf(context), context.signal) ??
        answers.now().onElicit?.(params, context) ??
        throwUnsupported(),
      elicitation: { form: true, url: true },
      onSample: (params, context) =>
        relays.sample(params, originOf(context), context.signal) ??
        answers.now().onSample?.(params, context) ??
        throwUnsupported(),
      sampling: { tools: true, context: true },
      onRoots: (context) => {
        const { onRoots } = answers.now()
        // Sessions request roots at any time and cache them: only the transport's report connects the request to a client.
        const relayed = relays.roots(originOf(context, false), context.signal)
        return relayed ?? (typeof onRoots === 'function' ? onRoots(context) : (onRoots ?? []))
      },
    }
  }
  return { ...answers, now }
}

function throwUnsupported(): never {
  throw new RpcError(ErrorCode.InternalError, 'The question could not be shown')
}
