import type { HostAnswers, HostQuestion, Remember } from '@jackfield/host'
import { cancelled, type Prompter } from '../forms/prompter.ts'
import { pretty } from '../output/content.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { editJson } from './edit.ts'
import { showText } from './long-text.ts'

type Question = Extract<HostQuestion, { kind: 'approval' }>
type Choice =
  | 'allow'
  | 'allow-conversation'
  | 'allow-always'
  | 'edit'
  | 'show'
  | 'deny'
  | 'deny-conversation'
  | 'deny-always'

/** Asks whether a tool may be called, with its arguments in full. Esc is a refusal. */
export async function askApproval(
  question: Question,
  prompter: Prompter,
  palette: Palette,
  env: NodeJS.ProcessEnv,
): Promise<HostAnswers['approval']> {
  const { tool } = question.tool
  const who = question.cause.caller === 'chat' ? 'The model wants to call' : 'Call'
  const hints = [
    tool.annotations?.readOnlyHint === true ? 'only reads' : undefined,
    tool.annotations?.destructiveHint === true ? 'may delete or overwrite' : undefined,
    tool.annotations?.openWorldHint === true ? 'reaches outside' : undefined,
  ].filter((hint) => hint !== undefined)
  prompter.say([
    `${who} ${palette.bold(oneLine(tool.name))} of ${palette.bold(oneLine(question.tool.server))}`,
    ...(tool.description === undefined ? [] : [palette.dim(oneLine(tool.description, 300))]),
    ...(hints.length === 0 ? [] : [palette.dim(`the server says: ${hints.join(', ')} (not verified)`)]),
    palette.dim(`asked because of rule: ${oneLine(question.decision.rule)}`),
  ])
  let args = question.arguments
  let { all } = showText(pretty(args), prompter)
  let edited = false
  for (;;) {
    const choice = await prompter.select<Choice>({
      message: 'Allow this call?',
      options: options(question, all),
      initial: 'deny',
    })
    switch (choice) {
      case 'show':
        prompter.say(pretty(args).split('\n'))
        all = true
        break
      case 'edit': {
        const value = await editJson(args, { prompter, env, read: asArguments })
        if (value === cancelled) break
        args = value
        edited = true
        ;({ all } = showText(pretty(args), prompter))
        break
      }
      case 'allow':
      case 'allow-conversation':
      case 'allow-always':
        return { verdict: 'allow', ...(edited && { arguments: args }), ...remember(choice) }
      default:
        return { verdict: 'deny', ...(choice !== cancelled && remember(choice)) }
    }
  }
}

function remember(choice: Choice): { remember?: Remember } {
  if (choice.endsWith('-conversation')) return { remember: { scope: 'conversation' } }
  return choice.endsWith('-always') ? { remember: { scope: 'always' } } : {}
}

function options(question: Question, all: boolean): { value: Choice; label: string; hint?: string }[] {
  const conversation = question.remember.includes('conversation')
  const always = question.remember.includes('always')
  const tool = oneLine(question.tool.tool.name, 40)
  return [
    { value: 'deny', label: 'Deny' },
    { value: 'allow', label: 'Allow once' },
    ...(all ? [] : [{ value: 'show' as const, label: 'Show the whole arguments' }]),
    { value: 'edit', label: 'Edit the arguments' },
    ...(conversation
      ? [{ value: 'allow-conversation' as const, label: `Allow ${tool} until the end of this conversation` }]
      : []),
    ...(always
      ? [
          {
            value: 'allow-always' as const,
            label: `Always allow ${tool}`,
            hint: 'as long as its definition stays the same',
          },
        ]
      : []),
    ...(conversation
      ? [{ value: 'deny-conversation' as const, label: `Deny ${tool} until the end of this conversation` }]
      : []),
    ...(always ? [{ value: 'deny-always' as const, label: `Never allow ${tool}` }] : []),
  ]
}

function asArguments(value: unknown): { value: Record<string, unknown> } | { problem: string } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'arguments are a JSON object.' }
  }
  return { value: { ...value } }
}
