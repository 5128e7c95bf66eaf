import { randomUUID } from 'node:crypto'
import type { CallToolResult } from '@jackfield/sdk'
import { isTestList } from '../config/rule.ts'
import type { Recorder } from '../log/store/activity-log.ts'
import { StoreError } from '../log/store/store-error.ts'
import { canonical, frozenCopy, isRecord, type JsonRecord } from '../shared/json.ts'
import { reasonOf } from '../shared/text.ts'
import type {
  BrokeredCall,
  CatalogTool,
  Cause,
  Decision,
  Remember,
  ServerTrust,
  TrustFinding,
} from '../types/index.ts'
import { problemWithArguments } from './broker.ts'
import { checkedResult, withheldResult } from './call-results.ts'
import { cannotAsk, type QuestionQueue } from './inbox/question-queue.ts'
import { argumentPatternsOf } from './policy/grants.ts'
import type { Policy, PolicySubject, Ruling } from './policy/policy.ts'

export interface ApprovalDeps {
  policy: Policy
  questions: QuestionQueue
  recorder: Recorder
  /** The findings about a server, and the trust state of its definitions. */
  trust: (server: string) => Pick<ServerTrust, 'findings' | 'items'>
  /** Whether a value contains a known secret. */
  containsSecret: (value: unknown) => boolean
}

/** A call that needs an approval. */
export interface ApprovalRequest {
  entry: CatalogTool
  subject: PolicySubject
  ruling: Ruling
  /** The server's identity for display. */
  origin: string
  /** The row of the call in question. */
  row: number
}

type ApprovalResult =
  | { allowed: true; arguments: JsonRecord; edited: boolean }
  | { allowed: true; result: CallToolResult; by: string }
  | { allowed: false; outcome: 'denied' | 'cancelled' | 'error'; reason: string }

/** Maximum questions about one call: arguments edited into invalid ones are shown again. */
const maxQuestions = 5

/**
 * Asks the user whether one call may run. Anything but an explicit approval is a refusal, and so is an error. Approved arguments
 * are exactly those that the user saw or edited.
 */
export async function requestApproval(
  request: ApprovalRequest,
  deps: ApprovalDeps,
  signal: AbortSignal,
): Promise<ApprovalResult> {
  const { entry, subject, ruling } = request
  const { questions, recorder } = deps
  const { decision } = ruling
  if (!questions.canAsk('approval')) {
    const reason = `${cannotAsk(questions.names)}, and rule "${decision.rule}" says to ask`
    return { allowed: false, outcome: 'denied', reason }
  }
  const row = recorder.open({
    kind: 'approval',
    server: entry.server,
    cause: request.row,
    summary: `May ${entry.tool.name} of ${entry.server} run?`,
    detail: {
      tool: entry.tool.name,
      rule: decision.rule,
      author: decision.author ?? null,
      arguments: subject.arguments,
      labels: ruling.labels,
      surface: questions.names,
    },
  })
  try {
    const { outcome, detail, approval } = await ask(request, deps, row.id, signal)
    row.close(outcome, detail)
    return approval
  } catch (error) {
    if (signal.aborted) {
      row.close('withdrawn')
      const reason = 'the call was cancelled before it was answered'
      return { allowed: false, outcome: 'cancelled', reason }
    }
    row.close('error', { reason: reasonOf(error) })
    const reason =
      error instanceof StoreError ? error.message : `the question could not be asked: ${reasonOf(error)}`
    return { allowed: false, outcome: 'error', reason }
  }
}

interface ApprovalOutcome {
  outcome: string
  detail: JsonRecord
  approval: ApprovalResult
}

async function ask(
  { entry, subject, ruling, origin }: ApprovalRequest,
  { policy, questions, trust, containsSecret }: ApprovalDeps,
  activity: number,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  const { arguments: original } = subject
  let shown = original
  let problem: string | undefined
  for (let attempt = 0; attempt < maxQuestions; attempt += 1) {
    const question = {
      kind: 'approval',
      id: randomUUID(),
      cause: causeOf(entry, subject),
      tool: frozenCopy(entry),
      arguments: shown,
      decision: ruling.decision,
      remember: ruling.remember,
      // Grants are stored, and the store must not contain secrets.
      likeness:
        ruling.remember.length === 0
          ? []
          : argumentPatternsOf(shown, subject.base).filter((pattern) => !containsSecret(pattern)),
      ...(ruling.readOnlyTools.length > 0 && { readOnlyTools: ruling.readOnlyTools }),
      labels: ruling.labels,
      origin,
      findings: findingsOf(entry, trust(entry.server)),
      ...(problem !== undefined && { problem }),
    } as const
    const { answer, by } = await questions.ask(question, { signal, activity })
    if (answer.verdict === 'respond') {
      const result = checkedResult(answer.result, by)
      return { outcome: 'answered', detail: { by, result }, approval: { allowed: true, result, by } }
    }
    const { remember } = answer
    if (remember !== undefined) checkRemember(remember, by)
    const savedRemember = (): Remember | null => {
      const scope =
        remember && policy.remember(subject, answer.verdict === 'deny' ? 'deny' : 'allow', remember, ruling)
      return scope === undefined ? null : { ...remember, scope }
    }
    if (answer.verdict === 'deny') {
      const reason = `the person refused${answer.reason === undefined ? '' : `: ${answer.reason}`}`
      const detail = { by, reason: answer.reason ?? null, remembered: savedRemember() }
      return { outcome: 'denied', detail, approval: { allowed: false, outcome: 'denied', reason } }
    }
    const args = answer.arguments === undefined ? shown : frozenCopy(answer.arguments)
    if (!isRecord(args)) throw new Error(`${by} gave arguments that are not an object`)
    const edited = canonical(args) !== canonical(original)
    problem = edited ? problemWithArguments(entry, args) : undefined
    shown = args
    if (problem !== undefined) continue
    const detail = { by, edited, ...(edited && { sent: args }), remembered: savedRemember() }
    return { outcome: 'allowed', detail, approval: { allowed: true, arguments: args, edited } }
  }
  throw new Error(`the edited arguments do not fit the tool: ${problem}`)
}

function causeOf({ server, tool }: CatalogTool, subject: PolicySubject): Cause {
  const { arguments: args, caller, conversation } = subject
  return {
    server,
    tool: tool.name,
    arguments: args,
    caller,
    ...(conversation !== undefined && { conversation }),
  }
}

function checkRemember(remember: Remember, by: string): void {
  if (remember.arguments === undefined || isTestList(remember.arguments)) return
  throw new Error(`${by} asked to remember the answer for arguments that cannot be distinguished`)
}

/** Findings about a tool and its server. */
function findingsOf(
  { tool }: CatalogTool,
  { findings, items }: Pick<ServerTrust, 'findings' | 'items'>,
): readonly TrustFinding[] {
  const item = items.find(({ what, name }) => what === 'tool' && name === tool.name)
  return [...findings, ...(item?.findings ?? [])]
}

interface ReleaseRequest {
  entry: CatalogTool
  subject: PolicySubject
  result: CallToolResult
  decision: Decision
  /** The row of the call. */
  row: number
}

/** A result as returned to the caller. */
interface ReleaseResult {
  result: CallToolResult
  release: NonNullable<BrokeredCall['release']>
}

/** Releases or withholds the result of a call that has run, as the decision says; with `ask`, as the user answers. */
export async function decideRelease(
  request: ReleaseRequest,
  { questions, recorder }: ApprovalDeps,
  signal: AbortSignal,
): Promise<ReleaseResult> {
  const { entry, subject, decision } = request
  const withhold = (reason: string): ReleaseResult => ({
    result: withheldResult(entry, reason),
    release: { decision, outcome: 'withheld' },
  })
  const unchanged: ReleaseResult = { result: request.result, release: { decision, outcome: 'passed' } }
  if (decision.verdict === 'allow') return unchanged
  const row = recorder.open({
    kind: 'result',
    server: entry.server,
    cause: request.row,
    summary: `May the ${subject.caller} see the result of ${entry.tool.name} of ${entry.server}?`,
    detail: { tool: entry.tool.name, rule: decision.rule, author: decision.author ?? null },
  })
  if (decision.verdict === 'deny') {
    row.close('denied', { reason: 'withheld by the rule' })
    return withhold(`rule "${decision.rule}" withholds it`)
  }
  if (!questions.canAsk('result')) {
    row.close('denied', { reason: 'no-surface' })
    return withhold(`${cannotAsk(questions.names)}, and rule "${decision.rule}" says to ask`)
  }
  try {
    const question = {
      kind: 'result',
      id: randomUUID(),
      cause: causeOf(entry, subject),
      tool: frozenCopy(entry),
      arguments: subject.arguments,
      result: frozenCopy(request.result),
      decision,
    } as const
    const { answer, by } = await questions.ask(question, { signal, activity: row.id })
    if (answer.verdict === 'deny') {
      row.close('denied', { by, reason: answer.reason ?? null })
      return withhold(`the person refused${answer.reason === undefined ? '' : `: ${answer.reason}`}`)
    }
    const result = answer.result === undefined ? request.result : checkedResult(answer.result, by)
    const edited = canonical(result) !== canonical(request.result)
    row.close('allowed', { by, edited, ...(edited && { passed: result }) })
    return edited ? { result, release: { decision, outcome: 'edited' } } : unchanged
  } catch (error) {
    row.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
    return withhold(
      signal.aborted
        ? 'the call was cancelled meanwhile'
        : `the question could not be asked: ${reasonOf(error)}`,
    )
  }
}
