import { randomUUID } from 'node:crypto'
import { type ElicitParams, type ElicitResult, ErrorCode, RpcError } from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import { frozenCopy } from '../shared/json.ts'
import { reasonOf } from '../shared/text.ts'
import type { HostAnswers, TrustFinding, Visit } from '../types/index.ts'
import { planForm, withoutSecretFields } from './forms/form.ts'
import { inspectUrl } from './forms/inspect-url.ts'
import { rememberedAnswers } from './forms/remembered.ts'
import { NoSurfaceError, unansweredError } from './inbox/question-queue.ts'
import { serverOrigin } from './policy/identity.ts'
import type { ServerRequestDeps } from './server-requests.ts'

const outcomes: Readonly<Record<ElicitResult['action'], string>> = {
  accept: 'accepted',
  decline: 'declined',
  cancel: 'cancelled',
}

/**
 * Shows a form or a URL to the user. A question that could not be shown is an error, never a refusal, so that the server does not
 * mistake it for the user's decision.
 */
export function createElicitationHandler(
  server: string,
  { questions, activeRequests, recorder, forms, warn }: ServerRequestDeps,
  pendingUrls: PendingUrlElicitations,
): (params: ElicitParams, context: AskContext) => Promise<ElicitResult> {
  const { config, identity, table, open } = forms
  return async (requested, context) => {
    const params = frozenCopy(requested)
    const remembered = rememberedAnswers(identity(), table)
    const { cause, row: causeRow } = activeRequests.find(server, context.cause)
    const findings = elicitationFindings(params, 'url' in config ? config.url : undefined)
    const rememberedValues = params.mode === 'url' ? undefined : remembered.for(params)
    const row = recorder.open({
      kind: 'elicitation',
      server,
      cause: causeRow,
      summary:
        params.mode === 'url' ? `${server} asks to visit ${hostOf(params.url)}` : `${server} asks for input`,
      detail: { cause, params, findings, surface: questions.names },
    })
    const questionFields = {
      cause,
      params,
      origin: serverOrigin(config),
      ...(findings.length > 0 && { findings }),
      ...(rememberedValues !== undefined && { remembered: rememberedValues }),
    }
    try {
      const ask = urlElicitation({
        ask: (visit, signal) =>
          questions.ask(
            {
              kind: 'elicitation',
              id: randomUUID(),
              ...questionFields,
              ...(visit !== undefined && { visit }),
            },
            { signal, activity: row.id },
          ),
        pending: pendingUrls,
        open,
      })
      const { answer, by, opened } = await ask(params, context.signal)
      const { reason, visit: _visit, remember, ...protocolAnswer } = answer
      if (params.mode !== 'url' && remember !== undefined && protocolAnswer.action === 'accept') {
        try {
          remembered.remember(params, protocolAnswer.content ?? {}, remember)
        } catch (error) {
          // A failure to store the default values does not affect the answer.
          warn(`The answers of this form could not be remembered: ${reasonOf(error)}`)
        }
      }
      row.close(outcomes[protocolAnswer.action], {
        answer: withoutSecretFields(protocolAnswer, params),
        by,
        ...(opened > 0 && { opened }),
        ...(reason !== undefined && { reason }),
      })
      return protocolAnswer
    } catch (error) {
      const isWithdrawn = context.signal.aborted
      row.close(isWithdrawn ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      if (isWithdrawn) throw new RpcError(ErrorCode.InternalError, 'The question was withdrawn')
      const message =
        error instanceof NoSurfaceError
          ? 'The question could not be shown: no person can be asked here (elicitation)'
          : 'The question could not be shown'
      throw unansweredError('elicitation', message, error)
    }
  }
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'a URL'
}

interface Answer {
  answer: HostAnswers['elicitation']
  by: string
}

interface UrlElicitationDeps {
  /** Asks the question; `visit` is set after the URL was accepted. */
  ask(visit: Visit | undefined, signal: AbortSignal): Promise<Answer>
  pending: PendingUrlElicitations
  /** Opens a page for the user. Default: their browser. */
  open?: ((url: URL) => Promise<void>) | undefined
}

/**
 * Asks; if the user agrees to open the page and wants to confirm its end, opens it and asks again until they finished, gave up,
 * or the server reports completion.
 */
export function urlElicitation({ ask, pending, open = openInBrowser }: UrlElicitationDeps) {
  return async (params: ElicitParams, signal: AbortSignal): Promise<Answer & { opened: number }> => {
    if (params.mode !== 'url') return { ...(await ask(undefined, signal)), opened: 0 }
    const { completed, end } = pending.begin(params.elicitationId)
    let opened = 0
    try {
      let answered = await ask(undefined, signal)
      while (answered.answer.action === 'accept' && answered.answer.visit !== undefined) {
        let problem: string | undefined
        if (answered.answer.visit === 'open') {
          problem = await problemOpening(params.url, open)
          if (problem === undefined) opened++
        }
        const visit = { opened: opened > 0, ...(problem !== undefined && { problem }) }
        answered = await ask(visit, AbortSignal.any([signal, completed])).catch((error: unknown) => {
          if (signal.aborted || !completed.aborted) throw error
          // The user agreed, and the server reports completion.
          return { answer: { action: 'accept' }, by: 'the server, which reported its completion' }
        })
      }
      return { ...answered, opened }
    } finally {
      end()
    }
  }
}

async function problemOpening(url: string, open: (url: URL) => Promise<void>): Promise<string | undefined> {
  const { href, opens, blocked } = inspectUrl(url)
  if (blocked !== undefined) return blocked
  if (!opens) return 'Only pages over https, and those on this machine, are opened for you.'
  try {
    await open(new URL(href))
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}

async function openInBrowser(url: URL): Promise<void> {
  const { openBrowser } = await import('@jackfield/sdk/client/auth/node')
  await openBrowser(url)
}

/** Warnings about a form or URL. `serverUrl`: the URL of a server that is not a program. */
function elicitationFindings(params: ElicitParams, serverUrl?: string): TrustFinding[] {
  if (params.mode === 'url') {
    return [...inspectUrl(params.url, serverUrl === undefined ? {} : { known: [serverUrl] }).findings]
  }
  const plan = planForm(params.requestedSchema, params.message)
  if ('fault' in plan) return []
  return plan.fields.flatMap(({ key, label, secret }) =>
    secret === undefined
      ? []
      : [
          {
            severity: 'danger',
            code: 'asks-for-secret',
            at: `fields.${key}`,
            message: `"${label}" seems to ask for ${secret}. Servers must not ask for secrets in a form: what is typed reaches the server as plain text. It can send you to a page of its own instead.`,
          },
        ],
  )
}

/** Accepted URL elicitations, which a server can complete by their id (2025-11-25). */
export class PendingUrlElicitations {
  readonly #open = new Map<string, AbortController>()

  /** Tracks one until `end` is called; `completed` is aborted when the server completes it. */
  begin(id: string | undefined): { completed: AbortSignal; end(): void } {
    const control = new AbortController()
    if (id !== undefined) this.#open.set(id, control)
    return {
      completed: control.signal,
      end: () => {
        if (id !== undefined && this.#open.get(id) === control) this.#open.delete(id)
      },
    }
  }

  /** Completes one by its id; an unknown id is ignored. */
  complete(id: string): void {
    this.#open.get(id)?.abort()
  }
}
