import type { HostAnswers, HostQuestion, Remember } from '@jackfield/host'
import { compileSchema } from '@jackfield/sdk/schema'
import { laterChoice } from '../forms/later-choice.ts'
import { type Cancelled, cancelled, type Choice as Option, type Prompter } from '../forms/prompter.ts'
import { askReason } from '../forms/refusals.ts'
import { exactJson } from '../output/exact.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { approvalHeading, argumentLines } from './approval-card.ts'
import { editJson, editText } from './edit.ts'

type Question = Extract<HostQuestion, { kind: 'approval' }>
type Choice =
  | 'deny'
  | 'allow'
  | 'allow-read-only'
  | 'show'
  | 'allow-conversation'
  | 'allow-for'
  | 'edit'
  | 'respond'
  | 'deny-why'
  | 'deny-for'
  | 'later'
  | 'more'
  | 'back'

/** Asks whether a tool may be called, with its arguments in full. Undefined, as for Esc, defers the question. */
export async function askApproval(
  question: Question,
  prompter: Prompter,
  palette: Palette,
  env: NodeJS.ProcessEnv,
): Promise<HostAnswers['approval'] | undefined> {
  const { tool } = question.tool
  let args = question.arguments
  let edited = false
  const card = argumentLines(args, palette)
  let isFullyShown = card.all
  prompter.say([...approvalHeading(question, palette), '', ...card.lines])
  for (;;) {
    const choice = await askChoice(question, args, isFullyShown, prompter)
    switch (choice) {
      case 'show':
        prompter.say(exactJson(args, 2).split('\n'))
        isFullyShown = true
        break
      case 'edit': {
        const value = await editJson(args, {
          prompter,
          env,
          read: (parsed) => parseArguments(parsed, tool.inputSchema),
        })
        if (value === cancelled) break
        args = value
        edited = true
        const changed = argumentLines(args, palette)
        prompter.say(changed.lines)
        isFullyShown = changed.all
        break
      }
      case 'respond': {
        const text = await editText('', { prompter, env, suffix: '.txt' })
        if (text === cancelled || text.trim() === '') break
        return { verdict: 'respond', result: { content: [{ type: 'text', text }] } }
      }
      case 'allow':
        return { verdict: 'allow', ...(edited && { arguments: args }) }
      case 'allow-conversation':
        return {
          verdict: 'allow',
          ...(edited && { arguments: args }),
          remember: { scope: 'conversation' },
        }
      case 'allow-for': {
        const remember = await askRemember(question, prompter, edited, 'narrowest')
        if (remember === cancelled) break
        return { verdict: 'allow', ...(edited && { arguments: args }), remember }
      }
      case 'allow-read-only':
        return {
          verdict: 'allow',
          ...(edited && { arguments: args }),
          remember: { scope: 'conversation', readOnlyTools: true },
        }
      case 'deny-for': {
        const remember = await askRemember(question, prompter, edited, 'widest')
        if (remember === cancelled) break
        return { verdict: 'deny', remember }
      }
      case 'deny-why': {
        const reason = await askReason('Reason (sent to the caller)', prompter)
        if (reason === cancelled) break
        return { verdict: 'deny', ...reason }
      }
      case 'deny':
        return { verdict: 'deny' }
      case 'back':
        break
      default:
        return undefined
    }
  }
}

/** Shows the common choices, and the others behind `More choices…`, which Esc leaves. */
async function askChoice(
  question: Question,
  args: Record<string, unknown>,
  all: boolean,
  prompter: Prompter,
): Promise<Choice | Cancelled> {
  const choice = await prompter.select<Choice>({
    message: 'Allow this call?',
    options: commonOptions(question, args, all, prompter),
    initial: 'deny',
  })
  if (choice !== 'more') return choice
  const rare = await prompter.select<Choice>({
    message: 'More choices',
    options: rareOptions(question, all),
    initial: 'back',
  })
  return rare === cancelled ? 'back' : rare
}

function commonOptions(
  question: Question,
  args: Record<string, unknown>,
  all: boolean,
  prompter: Prompter,
): Option<Choice>[] {
  const characters = JSON.stringify(args).length.toLocaleString('en')
  const remembers = question.remember.length > 0
  const tool = oneLine(question.tool.tool.name, 40)
  return [
    { value: 'deny', label: 'No', key: 'n' },
    { value: 'allow', label: 'Yes, this once', key: 'y' },
    ...(question.remember.includes('conversation')
      ? [
          {
            value: 'allow-conversation' as const,
            label: `Yes, and every call of ${tool} in this conversation`,
            key: 'a',
            hint: 'whatever its arguments, as long as the tool does not change',
          },
        ]
      : []),
    ...(remembers
      ? [
          {
            value: 'allow-for' as const,
            label: 'Yes, and remember…',
            key: 'm',
            hint: 'for how long and for which arguments, as long as the tool does not change',
          },
        ]
      : []),
    ...readOnlyOption(question),
    ...(all
      ? []
      : [{ value: 'show' as const, label: `Show everything (${characters} characters)`, key: 's' }]),
    { value: 'edit', label: 'Edit the arguments…', key: 'e' },
    laterChoice(question.id, prompter),
    { value: 'more', label: 'More choices…', key: 'o', hint: 'say why not, answer in place of the tool' },
  ]
}

function rareOptions({ remember }: Question, all: boolean): Option<Choice>[] {
  return [
    { value: 'back', label: 'Back', key: 'b' },
    { value: 'deny-why', label: 'No, and say why…', key: 'w' },
    ...(remember.length > 0
      ? [{ value: 'deny-for' as const, label: 'Not now: no, and remember…', key: 'd' }]
      : []),
    { value: 'respond', label: 'Answer in place of the tool…', key: 't', hint: 'it is not called' },
    ...(all ? [{ value: 'show' as const, label: 'Show the exact JSON', key: 'j' }] : []),
  ]
}

/** Allows all read-only tools of the server at once, if the host offers that. */
function readOnlyOption({ cause, readOnlyTools = [] }: Question): Option<Choice>[] {
  if (readOnlyTools.length === 0) return []
  const names = oneLine(readOnlyTools.join(', '), 60)
  return [
    {
      value: 'allow-read-only',
      label: `Yes, and all read-only tools of ${oneLine(cause.server, 40)} in this conversation`,
      key: 'r',
      hint: `${names}: read-only according to the server (not verified); ends when one of its definitions changes`,
    },
  ]
}

const scopes: Readonly<Record<Remember['scope'], string>> = {
  conversation: 'until this conversation ends',
  workspace: 'whenever you work in this folder',
  always: 'always',
}

/** Asks how long and for which calls. After an edit, a grant for similar calls makes no sense. */
async function askRemember(
  question: Question,
  prompter: Prompter,
  edited: boolean,
  first: 'narrowest' | 'widest',
): Promise<Remember | Cancelled> {
  const tool = oneLine(question.tool.tool.name, 40)
  const scope = await prompter.select({
    message: `Remember it for ${tool}`,
    options: question.remember.map((value) => ({ value, label: scopes[value] })),
  })
  if (scope === cancelled) return cancelled
  const patterns = edited ? question.likeness.filter((one) => one.arguments === undefined) : question.likeness
  if (patterns.length < 2) return { scope, ...argumentTestsOf(patterns[0]) }
  const choices = patterns.map(({ label }, n) => ({ value: `${n}`, label: oneLine(label, 120) }))
  const chosen = await prompter.select({
    message: 'For which calls?',
    options: choices,
    initial: first === 'narrowest' ? '0' : `${patterns.length - 1}`,
  })
  return chosen === cancelled ? cancelled : { scope, ...argumentTestsOf(patterns[Number(chosen)]) }
}

function argumentTestsOf(likeness: Question['likeness'][number] | undefined): Pick<Remember, 'arguments'> {
  return likeness?.arguments === undefined ? {} : { arguments: likeness.arguments }
}

function parseArguments(
  value: unknown,
  schema: Question['tool']['tool']['inputSchema'],
): { value: Record<string, unknown> } | { problem: string } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'arguments must be a JSON object.' }
  }
  const problem = schemaProblem(schema, value)
  return problem === undefined ? { value: { ...value } } : { problem: `${oneLine(problem)}.` }
}

/** A schema in an unsupported dialect is validated by the server. */
function schemaProblem(schema: unknown, value: unknown): string | undefined {
  let check: (value: unknown) => string | undefined
  try {
    check = compileSchema(schema).check
  } catch {
    return undefined
  }
  return check(value)
}
