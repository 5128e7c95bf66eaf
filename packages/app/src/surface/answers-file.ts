import { readFileSync } from 'node:fs'
import type { Surface } from '@jackfield/host'
import { matchesGlob } from '@jackfield/host/config'
import type { ElicitResult, ElicitValue, SamplingMessage } from '@jackfield/sdk'
import { checkElicitContent, readJson } from '@jackfield/sdk/internal'
import { isObject } from '../cli/arguments.ts'
import { usageError } from '../cli/exit.ts'
import { readErrorReason } from '../cli/file-errors.ts'
import { oneLine } from '../output/sanitize.ts'

/** Prepared answers for runs without a user. The first matching entry is used. */
export interface Answers {
  elicitation?: ElicitationAnswer[]
  sampling?: SamplingAnswer[]
  /** Calls allowed where policy asks; the first entry that matches the tool is used. `tool`: a name, or a glob as in rules. */
  approvals?: { tool?: string; verdict: 'allow' | 'deny' }[]
  /** Whether servers may list the roots. */
  roots?: 'allow' | 'deny'
}

interface ElicitationAnswer {
  /** A substring of the question's message, or `/a regular expression/flags`. If omitted, it matches every question. */
  match?: string
  action: ElicitResult['action']
  content?: Record<string, ElicitValue>
}

/** The answer text, or the model that may answer. */
type SamplingAnswer = { match?: string; text: string } | { match?: string; model: string }

/** Reads an answers file. Throws a usage error that explains what is invalid. */
export function readAnswers(file: string): Answers {
  let value: unknown
  try {
    value = readJson(readFileSync(file, 'utf8'))
  } catch (error) {
    throw usageError(`The answers file "${file}" cannot be read: ${readErrorReason(error)}`)
  }
  const problem = problemWithAnswers(value)
  if (problem !== undefined) throw usageError(`The answers file "${file}" is invalid: ${problem}`)
  // Validated above.
  return value as Answers
}

/** The models that an answers file allows, by name. */
export function modelsNamed(answers: Answers): string[] {
  return (answers.sampling ?? []).flatMap((entry) => ('model' in entry ? [entry.model] : []))
}

/**
 * A surface that answers from a file. It supports only the kinds of question that the file has entries for, and clients declare
 * only those capabilities. A form without a matching entry is not answered: the server receives an error, never a refusal;
 * `onUnanswered` is called with the reason.
 */
export function answersSurface(answers: Answers, onUnanswered: (message: string) => void): Surface {
  const { elicitation, sampling, approvals, roots } = answers
  return {
    name: 'answers file',
    urlElicitation: elicitation !== undefined,
    show: {
      ...(elicitation !== undefined && {
        elicitation: async ({ cause, params }): Promise<ElicitResult> => {
          const answer = elicitation.find((entry) => matches(entry.match, params.message))
          const unanswered = (why: string): Error => {
            onUnanswered(`${oneLine(cause.server)} asked "${oneLine(params.message, 200)}": ${why}.`)
            return new Error(why)
          }
          if (answer === undefined) throw unanswered('the answers file has no matching entry')
          if (answer.action !== 'accept') return { action: answer.action }
          if (params.mode === 'url') return { action: 'accept' }
          const content = answer.content ?? {}
          const fault = checkElicitContent(params.requestedSchema, content)
          if (fault !== undefined) throw unanswered(`the answer does not fit the form: ${oneLine(fault)}`)
          return { action: 'accept', content }
        },
      }),
      ...(sampling !== undefined && {
        'sampling-request': async ({ cause, params }) => {
          if (samplingAnswer(sampling, params.messages) !== undefined) return { verdict: 'allow' as const }
          const reason = 'the answers file has no matching entry'
          onUnanswered(`${oneLine(cause.server)} requested a model response: ${reason}; refused.`)
          return { verdict: 'deny' as const, reason }
        },
        'sampling-result': async ({ params }) => {
          const answer = samplingAnswer(sampling, params.messages)
          if (answer === undefined) return { verdict: 'deny' as const }
          if ('model' in answer) return { verdict: 'allow' as const }
          const content = { type: 'text' as const, text: answer.text }
          return {
            verdict: 'allow' as const,
            result: { role: 'assistant' as const, content, model: 'answers-file', stopReason: 'endTurn' },
          }
        },
      }),
      ...(approvals !== undefined && {
        approval: async ({ tool }) => {
          const own = tool.tool.name
          // The qualified name of this server's tool can be the plain name of another server's tool.
          const names = own.includes('__') ? [tool.name] : [tool.name, own]
          const answer = approvals.find(
            ({ tool: pattern }) => pattern === undefined || names.some((name) => matchesGlob(pattern, name)),
          )
          // Without an entry nobody decided, so the call is not made, and no refusal is recorded.
          if (answer === undefined)
            throw new Error(`the answers file has no entry for ${oneLine(own)} under "approvals"`)
          return answer.verdict === 'allow'
            ? { verdict: 'allow' as const }
            : { verdict: 'deny' as const, reason: 'the answers file says "deny"' }
        },
      }),
      ...(roots !== undefined && { roots: async () => ({ verdict: roots }) }),
    },
  }
}

function samplingAnswer(answers: SamplingAnswer[], messages: SamplingMessage[]): SamplingAnswer | undefined {
  const words = messages
    .flatMap((message) => (Array.isArray(message.content) ? message.content : [message.content]))
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n')
  return answers.find((entry) => matches(entry.match, words))
}

function matches(pattern: string | undefined, text: string): boolean {
  if (pattern === undefined) return true
  const expression = asExpression(pattern)
  return expression === undefined ? text.includes(pattern) : expression.test(text)
}

function asExpression(pattern: string): RegExp | undefined {
  const parts = /^\/(.+)\/([imsu]*)$/s.exec(pattern)
  return parts?.[1] === undefined ? undefined : new RegExp(parts[1], parts[2])
}

function problemWithAnswers(value: unknown): string | undefined {
  if (!isObject(value)) return 'it must be a JSON object.'
  const known = ['elicitation', 'sampling', 'approvals', 'roots']
  const unknownKey = Object.keys(value).find((key) => !known.includes(key))
  if (unknownKey !== undefined) return `"${unknownKey}" is unknown. Known are ${known.join(', ')}.`
  for (const key of ['elicitation', 'sampling', 'approvals']) {
    const list = value[key]
    if (list === undefined) continue
    if (!Array.isArray(list)) return `"${key}" must be a list.`
    for (const [n, entry] of list.entries()) {
      const problem = isObject(entry) ? problemWithEntry(key, entry) : 'must be an object.'
      if (problem !== undefined) return `"${key}" entry ${n + 1} ${problem}`
    }
  }
  return value.roots === undefined || value.roots === 'allow' || value.roots === 'deny'
    ? undefined
    : '"roots" must be "allow" or "deny".'
}

function problemWithEntry(key: string, entry: Record<string, unknown>): string | undefined {
  if (entry.match !== undefined && typeof entry.match !== 'string') return 'must have a string as "match".'
  if (typeof entry.match === 'string') {
    try {
      asExpression(entry.match)
    } catch (error) {
      return `has a bad regular expression: ${error instanceof Error ? error.message : error}`
    }
  }
  if (key === 'elicitation') {
    const action = entry.action
    if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
      return 'must have "action": "accept", "decline" or "cancel".'
    }
    if (entry.content !== undefined && !isObject(entry.content)) return 'must have an object as "content".'
  }
  if (key === 'sampling' && typeof entry.text !== 'string' && typeof entry.model !== 'string') {
    return 'must have "text", or "model" such as "offline".'
  }
  if (key === 'approvals' && entry.verdict !== 'allow' && entry.verdict !== 'deny') {
    return 'must have "verdict": "allow" or "deny".'
  }
  return undefined
}
