import { type CreateMessageParams, type CreateMessageResult, ErrorCode, RpcError } from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import { defined } from '@jackfield/sdk/internal'
import { limitsOf } from '../../config/sampling-section.ts'
import { NoSurfaceError, unansweredError } from '../../core/inbox/question-queue.ts'
import { frozenCopy } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
import type {
  Activity,
  Cause,
  Model,
  ModelChoice,
  SamplingService,
  SamplingStage,
  SamplingUsage,
} from '../../types/index.ts'
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
import { type SamplingDeps, SamplingRefusedError, type SamplingRequest, skipsReview } from './deps.ts'
import { generate } from './generate.ts'
import { SamplingGrants } from './grants.ts'
import { createSamplingRedactor, type SamplingRedactor } from './redact.ts'
import { type Candidates, reviewRequest, reviewResult } from './review.ts'

/** Maximum conversations with a known model; beyond that the oldest is dropped. */
const maxConversations = 1_000
/** Maximum responses that are kept beside the newest one. */
const maxEarlier = 3

/**
 * Handles servers' sampling requests: within the server's limits the user reviews and may edit the request, a model answers, and
 * the user reviews and may edit the result.
 */
export class Sampling {
  readonly service: SamplingService
  readonly #deps: ServiceDeps & { redactor: SamplingRedactor }
  readonly #budget: Budget
  /** The models of conversations, the oldest first. */
  readonly #conversationModels = new Map<string, Model>()

  constructor(deps: SamplingDeps) {
    const { settings, table, identityOf, now } = deps
    const redactor = createSamplingRedactor(settings.redact)
    const estimate = createRequestEstimator(settings, redactor)
    const grants = new SamplingGrants(table, settings, identityOf)
    this.#deps = { ...deps, redactor, estimate, grants }
    this.#budget = new Budget(table, now)
    this.service = {
      ...createService(this.#deps),
      setModel: (conversation, model) => this.#setModel(conversation, model),
    }
  }

  /** Whether a request of this server could be answered now: a surface can review it, or the review is skipped. */
  canAnswer(server: string): boolean {
    const { models, questions, grants } = this.#deps
    const hasLastingGrant = (stage: SamplingStage): boolean => {
      const passing = grants.find(server, stage, {})
      return passing !== undefined && passing.by !== 'conversation'
    }
    return (
      models.length > 0 &&
      (models.every((model) => skipsReview(server, model, this.#deps)) ||
        ((questions.canAsk('sampling-request') || hasLastingGrant('request')) &&
          (questions.canAsk('sampling-result') || hasLastingGrant('result'))))
    )
  }

  async answer(
    server: string,
    params: CreateMessageParams,
    context: AskContext,
  ): Promise<CreateMessageResult> {
    const { find, recorder, questions, models } = this.#deps
    const { cause, row: causeRow } = find(server, context.cause)
    const given = frozenCopy(params)
    const row = recorder.open({
      kind: 'sampling',
      server,
      cause: causeRow,
      summary: `${server} asks a model for a message`,
      detail: { cause, params: given, surface: questions.names },
    })
    const own = this.#conversationModel(cause)
    const sampling: SamplingRequest = {
      server,
      models: own === undefined || models.some(({ id }) => id === own.id) ? models : [...models, own],
      chosen: own?.id,
      cause,
      row,
      signal: context.signal,
    }
    try {
      const response = await this.#admitAndRun(given, sampling, causeRow)
      row.close('ok', { model: response.model })
      return response
    } catch (error) {
      throw closeWithError(error, sampling)
    }
  }

  endConversation(conversation: string): void {
    this.#conversationModels.delete(conversation)
    this.#deps.grants.endConversation(conversation)
  }

  #setModel(conversation: string, model: Model): void {
    const models = this.#conversationModels
    models.delete(conversation)
    models.set(conversation, model)
    const [oldest] = models.keys()
    if (models.size > maxConversations && oldest !== undefined) models.delete(oldest)
  }

  /** The model of a request's conversation, also if its cause is unknown and only one conversation is open. */
  #conversationModel({ conversation, caller }: Cause): Model | undefined {
    if (conversation !== undefined) return this.#conversationModels.get(conversation)
    const [first, ...rest] = this.#conversationModels.values()
    return caller === undefined && rest.length === 0 ? first : undefined
  }

  /** Admits the request, or rejects it before any question. */
  async #admitAndRun(
    given: CreateMessageParams,
    sampling: SamplingRequest,
    cause: number | null,
  ): Promise<CreateMessageResult> {
    const { server, models, chosen } = sampling
    const { settings } = this.#deps
    const limits = limitsOf(server, settings)
    const asked = frozenCopy({ ...given, maxTokens: Math.min(given.maxTokens, limits.maxTokens) })
    const choice = chooseModel(models, asked.modelPreferences, {
      facts: settings.models ?? [],
      tokens: requestTokens(asked) + asked.maxTokens,
      ...defined({ chosen }),
    })
    const spending = this.#budget.admit(server, limits, {
      cause,
      rounds: asked.messages.filter(usesTools).length,
      tools: asked.tools !== undefined && asked.tools.length > 0,
      reserve: reserveFor(asked, factsOf(settings, choice.model)),
    })
    try {
      return await this.#reviewAndGenerate(asked, choice, spending, sampling)
    } finally {
      releaseReservation(spending)
    }
  }

  async #reviewAndGenerate(
    asked: CreateMessageParams,
    choice: ModelChoice,
    spending: Spending,
    sampling: SamplingRequest,
  ): Promise<CreateMessageResult> {
    const deps = this.#deps
    let reviewed = await reviewRequest(asked, choice, spending, sampling, deps)
    let candidates: Candidates = {
      generated: await generate(reviewed, spending, sampling, deps),
      earlier: [],
    }
    for (;;) {
      const { params, choice } = reviewed
      const outcome = await reviewResult(params, candidates, choice, spending, sampling, deps)
      if ('result' in outcome) return outcome.result
      const next = { ...reviewed, choice: chosenByPerson(choice, outcome.again) }
      const { generated, earlier } = candidates
      try {
        candidates = {
          generated: await generate(next, spending, sampling, deps),
          earlier: [...earlier, { model: choice.model, ...generated }].slice(-maxEarlier),
        }
        reviewed = next
      } catch (error) {
        if (sampling.signal.aborted) throw error
        // The user can still send what was generated before.
        candidates = { generated, earlier, problem: reasonOf(error) }
      }
    }
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

type ServiceDeps = SamplingDeps & { grants: SamplingGrants; estimate: RequestEstimator }

/** The public sampling service. */
function createService(deps: ServiceDeps): Omit<SamplingService, 'setModel'> {
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
