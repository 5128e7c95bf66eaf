import { type CreateMessageParams, type CreateMessageResult, ErrorCode, RpcError } from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import { limitsOf } from '../../config/sampling-section.ts'
import { NoSurfaceError, unansweredError } from '../../core/inbox/question-queue.ts'
import { frozenCopy } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
import type { Activity, Cause, Model, SamplingService, SamplingUsage } from '../../types/index.ts'
import { blocksOf } from '../messages.ts'
import {
  Budget,
  createRequestEstimator,
  factsOf,
  type RequestEstimator,
  requestTokens,
  reserveFor,
  SamplingLimitError,
  type Spending,
} from './budget.ts'
import { chooseModel, chosenByPerson } from './choose.ts'
import {
  type Sampling,
  type SamplingDeps,
  SamplingRefusedError,
  type SamplingRequest,
  skipsReview,
} from './deps.ts'
import { generate } from './generate.ts'
import { SamplingGrants } from './grants.ts'
import { createSamplingRedactor } from './redact.ts'
import { type Candidates, reviewRequest, reviewResult } from './review.ts'

/** Maximum conversations with a known model; beyond that the oldest is dropped. */
const maxConversations = 1_000
/** Maximum responses that are kept beside the newest one. */
const maxEarlier = 3

/**
 * Handles servers' sampling requests: within the server's limits the user reviews and may edit the request, a model answers, and
 * the user reviews and may edit the result.
 */
export function createSampling(deps: SamplingDeps): Sampling {
  const { models, questions, recorder, settings } = deps
  const redactor = createSamplingRedactor(settings.redact)
  const estimate = createRequestEstimator(settings, redactor)
  const grants = new SamplingGrants(deps.table, settings, deps.identityOf)
  const budget = new Budget(deps.table, deps.now)
  const stepDeps = { ...deps, redactor, estimate, grants }
  const conversationModels = new Map<string, Model>()

  /** The model of a request's conversation, also if its cause is unknown and only one conversation is open. */
  function conversationModel({ conversation, caller }: Cause): Model | undefined {
    if (conversation !== undefined) return conversationModels.get(conversation)
    const [first, ...rest] = conversationModels.values()
    return caller === undefined && rest.length === 0 ? first : undefined
  }

  function choose(
    params: CreateMessageParams,
    { models, chosen }: SamplingRequest,
  ): ReturnType<typeof chooseModel> {
    return chooseModel(models, params.modelPreferences, {
      facts: settings.models ?? [],
      tokens: requestTokens(params) + params.maxTokens,
      ...(chosen !== undefined && { chosen }),
    })
  }

  /** Admits the request, or rejects it before any question. */
  function admit(given: CreateMessageParams, sampling: SamplingRequest, cause: number | null) {
    const { server } = sampling
    const limits = limitsOf(server, settings)
    const asked = { ...given, maxTokens: Math.min(given.maxTokens, limits.maxTokens) }
    const choice = choose(asked, sampling)
    const spending = budget.admit(server, limits, {
      cause,
      rounds: asked.messages.filter(usesTools).length,
      tools: asked.tools !== undefined && asked.tools.length > 0,
      reserve: reserveFor(asked, factsOf(settings, choice.model)),
    })
    return { asked: frozenCopy(asked), choice, spending }
  }

  async function admitAndRun(given: CreateMessageParams, sampling: SamplingRequest, cause: number | null) {
    const { asked, choice, spending } = admit(given, sampling, cause)
    try {
      return await reviewAndGenerate(asked, choice, spending, sampling)
    } finally {
      releaseReservation(spending)
    }
  }

  async function reviewAndGenerate(
    asked: CreateMessageParams,
    choice: ReturnType<typeof choose>,
    spending: Spending,
    sampling: SamplingRequest,
  ): Promise<CreateMessageResult> {
    let reviewed = await reviewRequest(asked, choice, spending, sampling, stepDeps)
    let candidates: Candidates = {
      generated: await generate(reviewed, spending, sampling, stepDeps),
      earlier: [],
    }
    for (;;) {
      const outcome = await reviewResult(
        reviewed.params,
        candidates,
        reviewed.choice,
        spending,
        sampling,
        stepDeps,
      )
      if ('result' in outcome) return outcome.result
      const next = { ...reviewed, choice: chosenByPerson(reviewed.choice, outcome.again) }
      const { generated, earlier } = candidates
      try {
        candidates = {
          generated: await generate(next, spending, sampling, stepDeps),
          earlier: [...earlier, { model: reviewed.choice.model, ...generated }].slice(-maxEarlier),
        }
        reviewed = next
      } catch (error) {
        if (sampling.signal.aborted) throw error
        // The user can still send what was generated before.
        candidates = { generated, earlier, problem: reasonOf(error) }
      }
    }
  }

  async function answer(
    server: string,
    params: CreateMessageParams,
    context: AskContext,
  ): Promise<CreateMessageResult> {
    const { cause, row: causeRow } = deps.find(server, context.cause)
    const given = frozenCopy(params)
    const row = recorder.open({
      kind: 'sampling',
      server,
      cause: causeRow,
      summary: `${server} asks a model for a message`,
      detail: { cause, params: given, surface: questions.names },
    })
    const own = conversationModel(cause)
    const sampling: SamplingRequest = {
      server,
      models: own === undefined || models.some(({ id }) => id === own.id) ? models : [...models, own],
      chosen: own?.id,
      cause,
      row,
      signal: context.signal,
    }
    try {
      const response = await admitAndRun(given, sampling, causeRow)
      row.close('ok', { model: response.model })
      return response
    } catch (error) {
      throw closeWithError(error, sampling)
    }
  }

  return {
    answer,
    canAnswer: (server) =>
      models.length > 0 &&
      (models.every((model) => skipsReview(server, model, deps)) ||
        ((questions.canAsk('sampling-request') || hasLastingGrant(server, 'request')) &&
          (questions.canAsk('sampling-result') || hasLastingGrant(server, 'result')))),
    endConversation(conversation) {
      conversationModels.delete(conversation)
      grants.endConversation(conversation)
    },
    service: {
      ...createService(stepDeps),
      setModel(conversation, model) {
        conversationModels.delete(conversation)
        conversationModels.set(conversation, model)
        const [oldest] = conversationModels.keys()
        if (conversationModels.size > maxConversations && oldest !== undefined)
          conversationModels.delete(oldest)
      },
    },
  }

  function hasLastingGrant(server: string, stage: 'request' | 'result'): boolean {
    const passing = grants.find(server, stage, {})
    return passing !== undefined && passing.by !== 'conversation'
  }
}

/** Records the failure of a request, and returns the error for the server. */
function closeWithError(error: unknown, { row, signal }: SamplingRequest): RpcError {
  if (error instanceof SamplingRefusedError) {
    row.close('denied', error.detail)
    return new RpcError(ErrorCode.UserRejected, 'User rejected sampling request')
  }
  if (error instanceof SamplingLimitError) {
    const { limit, retryAfterMs } = error
    row.close('limited', { limit, reason: error.message })
    const data = { limit, ...(retryAfterMs !== undefined && { retryAfterMs }) }
    return new RpcError(ErrorCode.InternalError, `Sampling limit reached: ${error.message}`, data)
  }
  row.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
  if (signal.aborted) return new RpcError(ErrorCode.InternalError, 'The request was withdrawn')
  if (error instanceof NoSurfaceError)
    return unansweredError('sampling', 'No person is available to approve the sampling request', error)
  return new RpcError(ErrorCode.InternalError, 'No message could be made')
}

/** Releases the reservation of a request that failed; a closed store has none. */
function releaseReservation(spending: Spending): void {
  try {
    spending.settle()
  } catch (error) {
    process.emitWarning(`The use of a model could not be recorded: ${reasonOf(error)}`)
  }
}

function usesTools({ content }: CreateMessageParams['messages'][number]): boolean {
  return blocksOf(content).some((block) => block.type === 'tool_use')
}

const dayMs = 86_400_000

/** The public sampling service. */
function createService(
  deps: SamplingDeps & { grants: SamplingGrants; estimate: RequestEstimator },
): Omit<SamplingService, 'setModel'> {
  const { models, settings, table, grants, estimate, now, recorder } = deps
  const choose: SamplingService['rank'] = (preferences) =>
    chooseModel(models, preferences, { facts: settings.models ?? [] })

  function usageOf(server: string): SamplingUsage {
    const tally = table.tally(server, now())
    return {
      server,
      limits: limitsOf(server, settings),
      requests: tally.requests,
      requestsToday: tally.requestsToday,
      tokens: tally.tokens,
      autoTokens: tally.autoTokens,
      cost: tally.cost,
      ...(tally.last !== undefined && { last: new Date(tally.last).toISOString() }),
    }
  }

  return {
    usage() {
      const serverNames = [
        ...table.servers(now() - dayMs),
        ...Object.keys(settings.servers ?? {}),
        ...grants.list().map(({ server }) => server),
      ]
      return [...new Set(serverNames)].sort().map(usageOf)
    },
    grants: () => grants.list(),
    revoke(id) {
      const grant = grants.remove(id)
      if (grant === undefined) return false
      const { server, stage } = grant
      const exchangeText = stage === 'request' ? 'sends to models' : 'gets from models'
      const kind: Activity['kind'] = 'sampling'
      const summary = `What ${server} ${exchangeText} is reviewed again`
      recorder.note({ kind, server, summary, detail: { ...grant } }, 'revoked')
      return true
    },
    rank: choose,
    preview: (params) => estimate(params, choose(params.modelPreferences ?? {}).model),
  }
}
