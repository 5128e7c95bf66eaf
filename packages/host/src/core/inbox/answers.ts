import { checkElicitContent, fillDefaults } from '@jackfield/sdk/internal'
import { isRecord } from '../../shared/json.ts'
import type { ConfigInput, HostQuestion, QuestionKind } from '../../types/index.ts'
import type { AnswerTo } from './question-queue.ts'

/** Maximum characters of a value that a configuration needs. */
const maxValue = 65_536

/** The verdicts of each kind of question. */
const verdicts: Readonly<Record<QuestionKind, { member: string; values: readonly string[] }>> = {
  approval: { member: 'verdict', values: ['allow', 'deny', 'respond'] },
  result: { member: 'verdict', values: ['allow', 'deny'] },
  elicitation: { member: 'action', values: ['accept', 'decline', 'cancel'] },
  'sampling-request': { member: 'verdict', values: ['allow', 'deny'] },
  'sampling-result': { member: 'verdict', values: ['allow', 'regenerate', 'deny'] },
  roots: { member: 'verdict', values: ['allow', 'deny'] },
  start: { member: 'verdict', values: ['allow', 'deny'] },
  input: { member: 'verdict', values: ['allow', 'deny'] },
  installation: { member: 'verdict', values: ['allow', 'deny'] },
  drift: { member: 'verdict', values: ['accept', 'block'] },
  login: { member: 'verdict', values: ['allow', 'deny'] },
  app: { member: 'verdict', values: ['allow', 'deny'] },
}

/** Whether this is a valid answer to the question. */
export function isAnswerTo<Q extends HostQuestion>(question: Q, answer: unknown): answer is AnswerTo<Q> {
  return problemWithAnswer(question, answer) === undefined
}

/** Whether an answer permits nothing and discloses nothing. */
export function isRefusal(question: HostQuestion, answer: unknown): boolean {
  const verdict = isRecord(answer) ? answer[verdicts[question.kind].member] : undefined
  return verdict === 'deny' || verdict === 'block' || verdict === 'decline' || verdict === 'cancel'
}

/** Why this is not a valid answer to the question; undefined if it is. */
export function problemWithAnswer(question: HostQuestion, answer: unknown): string | undefined {
  const { member, values } = verdicts[question.kind]
  const verdict = isRecord(answer) ? answer[member] : undefined
  if (typeof verdict !== 'string' || !values.includes(verdict)) {
    return `an answer to this question (${question.kind}) has "${member}": ${values.join(', ')}`
  }
  if (question.kind === 'input' && verdict === 'allow') return problemWithValue(question.input, answer)
  if (question.kind !== 'elicitation' || question.params.mode === 'url' || verdict !== 'accept')
    return undefined
  const { requestedSchema } = question.params
  const content = isRecord(answer) ? (answer['content'] ?? {}) : {}
  if (!isRecord(content)) return '"content" must be an object'
  return checkElicitContent(requestedSchema, { ...fillDefaults(requestedSchema, {}), ...content })
}

function problemWithValue({ options }: ConfigInput, answer: unknown): string | undefined {
  const value = isRecord(answer) ? answer['value'] : undefined
  if (typeof value !== 'string') return '"value" must be a string'
  if (value.length > maxValue) return `"value" has more than ${maxValue} characters`
  if (options !== undefined && !options.includes(value)) return `"value" is one of: ${options.join(', ')}`
  return undefined
}
