import { type HostAnswers, type HostQuestion, planForm, type QuestionKind } from '@jackfield/host'
import type { ElicitResult, ElicitSchema, ElicitValue } from '@jackfield/sdk'
import { checkElicitContent, fillDefaults } from '@jackfield/sdk/internal'
import { parseArguments, parseJsonArguments } from '../cli/arguments.ts'
import { usageError } from '../cli/exit.ts'
import { isSecretInput } from '../output/inbox.ts'
import { oneLine } from '../output/sanitize.ts'

/** An answer given on a command line. */
export interface WrittenAnswerOptions {
  /** Form values as key=value. */
  accept?: true | string[]
  decline?: boolean
  cancel?: boolean
  allow?: boolean
  deny?: boolean
  /** Allows --accept to set fields that seem to ask for a secret. */
  sendSecretsAsPlainText?: boolean
  /** Changed arguments for the allowed call, as JSON. */
  args?: string
  reason?: string
}

const verbs = ['accept', 'decline', 'cancel', 'allow', 'deny'] as const

/** The given answer; undefined if there is none. Throws a usage error if it does not fit the question. */
export function answerFromOptions(
  question: HostQuestion,
  words: WrittenAnswerOptions,
): HostAnswers[QuestionKind] | undefined {
  const [verb, ...more] = verbs.filter((name) => words[name] !== undefined)
  if (verb === undefined) return undefined
  if (more.length > 0)
    throw usageError(`--${verb} and --${more.join(', --')} contradict each other. Give one.`)
  const { kind } = question
  if (kind === 'elicitation') {
    if (verb === 'accept') return acceptedForm(question, words)
    if (verb === 'decline' || verb === 'cancel') return { action: verb, ...reasonOption(words) }
    throw usageError('A server asks for input here: answer with --accept, --decline or --cancel.')
  }
  if (kind === 'input') {
    if (verb === 'accept') return { verdict: 'allow', value: writtenValue(question, words) }
    if (verb === 'allow') throw usageError('A value is needed here: answer with --accept or --deny.')
    return { verdict: 'deny' }
  }
  if (verb !== 'allow' && verb !== 'deny') {
    throw usageError(`This question (${kind}) is answered with --allow or --deny.`)
  }
  if (words.args !== undefined && (kind !== 'approval' || verb !== 'allow')) {
    throw usageError('--args changes the arguments of a call that is allowed; nothing else has any.')
  }
  switch (kind) {
    case 'approval':
      if (verb === 'deny') return { verdict: verb, ...reasonOption(words) }
      return { verdict: verb, ...(words.args !== undefined && { arguments: parseJsonArguments(words.args) }) }
    case 'drift':
      return { verdict: verb === 'allow' ? 'accept' : 'block' }
    case 'app': {
      const { kind: request } = question.wants
      if (verb === 'allow' && (request === 'link' || request === 'download'))
        throw usageError('Answer it in the web app, which then opens the page or saves the file.')
      return verb === 'allow' ? { verdict: verb } : { verdict: verb }
    }
    case 'roots':
    case 'login':
      return verb === 'allow' ? { verdict: verb } : { verdict: verb }
    default:
      return verb === 'allow' ? { verdict: verb } : { verdict: verb, ...reasonOption(words) }
  }
}

/** The value of an input from `--accept value=…`. */
function writtenValue(
  { input }: Extract<HostQuestion, { kind: 'input' }>,
  { accept }: WrittenAnswerOptions,
): string {
  const given = Array.isArray(accept) ? accept : []
  if (isSecretInput(input) && given.length > 0) {
    throw usageError(
      'A secret does not belong on the command line, where every program can read it. Write --accept alone and type it, or pipe it in.',
    )
  }
  const [, value] = /^value=(.*)$/s.exec(given.join('')) ?? []
  if (given.length !== 1 || value === undefined) throw usageError('Write the value as --accept value=…')
  if (input.options !== undefined && !input.options.includes(value))
    throw usageError(`The value is one of: ${input.options.map((one) => oneLine(one)).join(', ')}`)
  return value
}

function acceptedForm(
  { params, cause }: Extract<HostQuestion, { kind: 'elicitation' }>,
  { accept, sendSecretsAsPlainText = false }: WrittenAnswerOptions,
): ElicitResult {
  const assignments = Array.isArray(accept) ? accept : []
  if (params.mode === 'url') {
    if (assignments.length > 0) throw usageError('A visit to a page has no values: write --accept alone.')
    return { action: 'accept' }
  }
  const { requestedSchema } = params
  const content = Object.fromEntries(
    Object.entries(parseArguments(assignments, { ...requestedSchema, additionalProperties: false })).map(
      ([key, value]) => {
        if (!isElicitValue(value))
          throw usageError(`${key} must be a text, a number, yes or no, or several texts.`)
        return [key, value]
      },
    ),
  )
  const filled = fillDefaults(requestedSchema, content)
  const problem = checkElicitContent(requestedSchema, filled)
  if (problem !== undefined) throw usageError(`The answer does not fit the form: ${oneLine(problem)}.`)
  if (!sendSecretsAsPlainText) refuseSecrets(requestedSchema, params.message, filled, cause.server)
  return { action: 'accept', content: filled }
}

/** Servers must not ask for secrets in a form, so a field that seems to be one is not sent without an explicit option. */
function refuseSecrets(
  schema: ElicitSchema,
  message: string,
  content: Record<string, ElicitValue>,
  server: string,
): void {
  const plan = planForm(schema, message)
  const fields = 'fields' in plan ? plan.fields : []
  const asked = fields.find(({ key, secret }) => secret !== undefined && key in content)
  if (asked === undefined) return
  throw usageError(
    `Nothing was sent: ${oneLine(asked.key, 40)} seems to ask for ${asked.secret}, which servers must not do in a form. ` +
      `It would reach ${oneLine(server, 40)} and its logs as plain text. Answer with --decline, or add ` +
      '--send-secrets-as-plain-text to send it all the same.',
  )
}

function isElicitValue(value: unknown): value is ElicitValue {
  return (
    ['string', 'number', 'boolean'].includes(typeof value) ||
    (Array.isArray(value) && value.every((entry) => typeof entry === 'string'))
  )
}

function reasonOption({ reason }: WrittenAnswerOptions): { reason?: string } {
  return reason === undefined ? {} : { reason }
}
