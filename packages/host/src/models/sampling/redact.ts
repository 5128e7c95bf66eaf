import { type CreateMessageParams, McpError, type SamplingContent } from '@jackfield/sdk'
import { linearRegex } from '@jackfield/sdk/schema'
import { patternProblem } from '../../config/sampling-section.ts'
import type { Redaction, RedactionRule } from '../../types/index.ts'

type RedactableParams = Pick<CreateMessageParams, 'systemPrompt' | 'messages' | 'tools' | 'stopSequences'>

interface Rule {
  name: string
  find: Finder
}

/** Maximum pattern matching work for one request. */
const maxSteps = 15_000_000
const maxPositions = 10
const defaultRules = ['private-key', 'bearer-token', 'api-key'] as const

/** Redacts requests before they reach a model. */
export interface SamplingRedactor {
  /**
   * The request as it is sent, and the redactions. Names, ids, types and binary data are unchanged.
   * @throws McpError 'INVALID' if the patterns cannot search all of it in bounded time; nothing may be sent then
   */
  redact<P extends RedactableParams>(params: P): { params: P; redactions: Redaction[] }
}

/**
 * Creates a redactor of the built-in rules, followed by the configured ones.
 * @throws McpError 'INVALID' for a pattern that cannot be searched in linear time
 */
export function createSamplingRedactor(configured: readonly RedactionRule[] = []): SamplingRedactor {
  // Invalid rules are reported now and not at the first request.
  rulesOf(configured, () => {})
  return {
    redact(params) {
      let remainingSteps = maxSteps
      const spend = (steps: number): void => {
        remainingSteps -= steps
        if (remainingSteps < 0) {
          throw new McpError(
            'INVALID',
            'The redaction patterns take too long for this request, so it was not sent. Simplify them, or shorten the request.',
          )
        }
      }
      const tally = new Tally()
      const rules = rulesOf(configured, spend)
      const text = (value: string, position: string): string => redactText(value, position, rules, tally)
      const redacted = { ...params, messages: params.messages.map(message(text)) }
      if (params.systemPrompt !== undefined) redacted.systemPrompt = text(params.systemPrompt, 'systemPrompt')
      if (params.stopSequences !== undefined) {
        redacted.stopSequences = params.stopSequences.map((stop) => text(stop, 'stopSequences'))
      }
      if (params.tools !== undefined) {
        redacted.tools = params.tools.map((tool, index) => {
          const { name, inputSchema, description, ...definition } = tool
          const position = `tools[${index}]`
          return {
            ...recordWith(definition, (value) => text(value, position)),
            name,
            ...(description !== undefined && { description: text(description, position) }),
            inputSchema: {
              ...recordWith(inputSchema, (value) => text(value, position)),
              type: inputSchema.type,
            },
          }
        })
      }
      return { params: redacted, redactions: tally.list() }
    },
  }
}

class Tally {
  readonly #counts = new Map<string, { count: number; at: Set<string> }>()

  add(rule: string, position: string): void {
    const entry = this.#counts.get(rule) ?? { count: 0, at: new Set() }
    this.#counts.set(rule, entry)
    entry.count++
    if (entry.at.size < maxPositions) entry.at.add(position)
  }

  list(): Redaction[] {
    return [...this.#counts].map(([rule, { count, at: positions }]) => ({ rule, count, at: [...positions] }))
  }
}

function rulesOf(configured: readonly RedactionRule[], spend: (steps: number) => void): Rule[] {
  const disabled = configured.flatMap((rule) =>
    'builtin' in rule && rule.off === true ? [rule.builtin] : [],
  )
  const enabled = configured.flatMap((rule) => ('builtin' in rule && rule.off !== true ? [rule.builtin] : []))
  const builtins = [...new Set([...defaultRules, ...enabled])].filter((name) => !disabled.includes(name))
  const custom = configured.flatMap((rule): Rule[] => {
    if (!('pattern' in rule)) return []
    const problem = patternProblem(rule.pattern)
    if (problem !== undefined) throw new McpError('INVALID', `The redaction rule "${rule.name}": ${problem}`)
    const regex = linearRegex(rule.pattern)
    return [{ name: rule.name, find: (text, from) => regex.find(text, from, spend) }]
  })
  return [...builtins.map((name) => ({ name, find: scanners[name] })), ...custom]
}

function redactText(value: string, position: string, rules: readonly Rule[], tally: Tally): string {
  let text = value
  for (const { name, find } of rules) {
    const mark = `[redacted: ${name}]`
    let redacted = ''
    let from = 0
    for (let span = find(text, from); span !== undefined; span = find(text, from)) {
      const [start, end] = span
      // An empty match is skipped, since it would recur at every position.
      if (end === start) {
        if (start >= text.length) break
        redacted += text.slice(from, start + 1)
        from = start + 1
        continue
      }
      redacted += text.slice(from, start) + mark
      from = end
      tally.add(name, position)
    }
    text = redacted + text.slice(from)
  }
  return text
}

function message(
  text: (value: string, position: string) => string,
): (
  message: CreateMessageParams['messages'][number],
  index: number,
) => CreateMessageParams['messages'][number] {
  return (message, index) => {
    const position = `messages[${index}]`
    const redact = (value: string): string => text(value, position)
    const content = Array.isArray(message.content)
      ? message.content.map((entry) => blockWith(entry, redact))
      : blockWith(message.content, redact)
    return { ...message, content }
  }
}

function blockWith(block: SamplingContent, text: (value: string) => string): SamplingContent {
  switch (block.type) {
    case 'text':
      return { ...block, text: text(block.text) }
    case 'tool_use':
      return { ...block, input: recordWith(block.input, text) }
    case 'tool_result': {
      const { structuredContent } = block
      return {
        ...block,
        content: block.content.map((entry) => {
          if (entry.type === 'text') return { ...entry, text: text(entry.text) }
          if (entry.type === 'resource' && 'text' in entry.resource) {
            return { ...entry, resource: { ...entry.resource, text: text(entry.resource.text) } }
          }
          if (entry.type !== 'resource_link') return entry
          return {
            ...entry,
            uri: text(entry.uri),
            ...(entry.description !== undefined && { description: text(entry.description) }),
          }
        }),
        ...(structuredContent !== undefined && {
          structuredContent: recordWith({ structuredContent }, text).structuredContent,
        }),
      }
    }
    default:
      return block
  }
}

function recordWith<R extends object>(record: R, text: (value: string) => string): R {
  const copy = structuredClone(record)
  rewriteTexts(copy, text)
  return copy
}

/** Replaces every text at any depth; member names stay. */
function rewriteTexts(value: object, text: (value: string) => string): void {
  for (const [key, member] of Object.entries(value)) {
    if (typeof member === 'string') {
      Reflect.defineProperty(value, key, { value: text(member), enumerable: true, writable: true })
    } else if (typeof member === 'object' && member !== null) rewriteTexts(member, text)
  }
}

/** Finds the next match at or after `from`: [start, end). */
type Finder = (text: string, from: number) => readonly [number, number] | undefined

/** The built-in scanners, each linear in the text: their repetitions are bounded or cannot overlap. */
const scanners: Readonly<Record<'api-key' | 'bearer-token' | 'private-key' | 'email', Finder>> = {
  'api-key': patternFinder(
    /(?<![A-Za-z0-9_-])(?:sk-|pk_live_|sk_live_|rk_live_|xox[abeoprs]-|gh[oprsu]_|github_pat_|glpat-|npm_|AIza|hf_|gsk_|AKIA|ASIA)[A-Za-z0-9_-]{12,400}/g,
  ),
  'bearer-token': patternFinder(
    /(?<![A-Za-z0-9])bearer[ \t]{1,4}[A-Za-z0-9._~+/-]{8,4000}={0,2}|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{0,2000}/gi,
  ),
  'private-key': findPrivateKey,
  email: patternFinder(
    /(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}/g,
  ),
}

function patternFinder(pattern: RegExp): Finder {
  return (text, from) => {
    pattern.lastIndex = from
    const match = pattern.exec(text)
    return match === null ? undefined : [match.index, match.index + match[0].length]
  }
}

/** A key in PEM form; without its end marker it extends to the end of the text. */
function findPrivateKey(text: string, from: number): readonly [number, number] | undefined {
  const beginPattern = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/g
  beginPattern.lastIndex = from
  const begin = beginPattern.exec(text)
  if (begin === null) return undefined
  const endPattern = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----/g
  endPattern.lastIndex = beginPattern.lastIndex
  return [begin.index, endPattern.exec(text) === null ? text.length : endPattern.lastIndex]
}
