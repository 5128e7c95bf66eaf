import type { HostAnswers, HostQuestion } from '@jackfield/host'
import type { CallToolResult } from '@jackfield/sdk'
import { laterChoice } from '../forms/later-choice.ts'
import { cancelled, type Prompter } from '../forms/prompter.ts'
import { askReason } from '../forms/refusals.ts'
import { toolResult } from '../output/content.ts'
import { exactJson } from '../output/exact.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { editJson } from './edit.ts'
import { startOf } from './long-text.ts'

type Question = Extract<HostQuestion, { kind: 'result' }>
type Choice = 'deny' | 'allow' | 'show' | 'edit' | 'deny-why' | 'later'

/** Asks whether the caller may see a tool's result. Esc withholds it; undefined defers the question. */
export async function askResult(
  question: Question,
  prompter: Prompter,
  palette: Palette,
  env: NodeJS.ProcessEnv,
): Promise<HostAnswers['result'] | undefined> {
  const { tool, cause, decision } = question
  let { result } = question
  let edited = false
  const show = (): void => {
    const { lines, more } = startOf(toolResult(result, palette))
    const rest = more > 0 ? [palette.dim(`… ${more.toLocaleString('en')} more characters`)] : []
    prompter.say([...lines, ...rest])
  }
  prompter.say([
    `${palette.bold(oneLine(tool.tool.name))} of ${palette.bold(oneLine(tool.server))} was called for ${cause.caller ?? 'an unknown caller'} and returned:`,
    palette.dim(
      `  asked because of rule: ${oneLine(decision.rule)}${decision.author === undefined ? '' : `, ${oneLine(decision.author)}`}`,
    ),
  ])
  show()
  for (;;) {
    const choice = await prompter.select<Choice>({
      message: 'Return this result to the caller?',
      options: [
        { value: 'deny', label: 'No, withhold it', key: 'n' },
        { value: 'allow', label: edited ? 'Yes, as edited' : 'Yes', key: 'y' },
        {
          value: 'show',
          label: `Show the exact JSON (${JSON.stringify(result).length.toLocaleString('en')} characters)`,
          key: 'j',
        },
        { value: 'edit', label: 'Edit it…', key: 'e' },
        { value: 'deny-why', label: 'No, and say why…', key: 'w' },
        laterChoice(question.id, prompter),
      ],
      initial: 'deny',
    })
    switch (choice) {
      case 'show':
        prompter.say(exactJson(result, 2).split('\n'))
        break
      case 'edit': {
        const value = await editJson(result, { prompter, env, read: asToolResult })
        if (value === cancelled) break
        result = value
        edited = true
        show()
        break
      }
      case 'allow':
        return { verdict: 'allow', ...(edited && { result }) }
      case 'deny-why': {
        const reason = await askReason('Reason (sent to the caller)', prompter)
        if (reason === cancelled) break
        return { verdict: 'deny', ...reason }
      }
      case 'deny':
        return { verdict: 'deny' }
      default:
        return undefined
    }
  }
}

function asToolResult(value: unknown): { value: CallToolResult } | { problem: string } {
  return isToolResult(value)
    ? { value }
    : { problem: 'a result must be a JSON object with "content", a list of blocks that each have a "type".' }
}

function isToolResult(value: unknown): value is CallToolResult {
  if (typeof value !== 'object' || value === null || !('content' in value)) return false
  const { content } = value
  return (
    Array.isArray(content) &&
    content.every((block) => typeof block === 'object' && block !== null && typeof block.type === 'string')
  )
}
