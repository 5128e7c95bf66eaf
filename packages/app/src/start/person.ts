import { planForm, type Surface } from '@jackfield/host'
import type { ElicitResult } from '@jackfield/sdk'
import { oneLine } from '../output/sanitize.ts'
import { parseJson, recordsIn } from './checks.ts'
import type { Transcript } from './transcript.ts'

/** The answers of the scripted user in forms, by field. */
const formAnswers: Readonly<Record<string, string | boolean>> = {
  confirmBooking: true,
  seatPreference: 'window',
  roomType: 'sea view',
  travelInsurance: false,
}

/** A user with scripted answers, which are printed in the transcript. */
export function scriptedSurface(transcript: Transcript, planner: string): Surface {
  const person = (words: string): void => transcript.say('person', 'Person', words)
  return {
    name: 'script',
    show: {
      async approval({ tool, decision }) {
        transcript.say(
          'host',
          'Host',
          `May ${tool.tool.name} of ${tool.server} run? (rule: ${decision.rule})`,
        )
        person('Yes, this once.')
        return { verdict: 'allow' }
      },
      async elicitation({ cause, params }): Promise<ElicitResult> {
        transcript.say('server', cause.server, params.message)
        if (params.mode === 'url') return { action: 'decline' }
        const plan = planForm(params.requestedSchema)
        if ('fault' in plan) return { action: 'decline' }
        const content = Object.fromEntries(
          plan.fields.flatMap((field) => {
            const value = Object.hasOwn(formAnswers, field.key) ? formAnswers[field.key] : undefined
            return value === undefined ? [] : [[field.key, value] as const]
          }),
        )
        const shown = plan.fields.map((field) => {
          const value = content[field.key]
          return `${oneLine(field.label)}: ${value === undefined ? '(left out)' : value === true ? 'yes' : value === false ? 'no' : value}`
        })
        person(`${shown.join(' · ')}. Send.`)
        return { action: 'accept', content }
      },
      async 'sampling-request'({ cause, params, choice: { model, reason } }) {
        const words = params.messages.flatMap(({ content }) => (Array.isArray(content) ? content : [content]))
        const lines = words.flatMap((block) => (block.type === 'text' ? block.text.split('\n') : []))
        transcript.say('server', cause.server, `asks the model of this host (${cause.tool ?? 'unknown'}):`)
        for (const line of [`system: ${params.systemPrompt ?? '(none)'}`, ...lines.slice(0, 5)]) {
          transcript.say('server', '', `  ${oneLine(line, 82)}`, 'dim')
        }
        if (lines.length > 5) transcript.say('server', '', `  … ${lines.length - 5} more lines`, 'dim')
        transcript.say(
          'host',
          'Host',
          `It would go to ${model} (${reason}), for at most ${params.maxTokens} tokens.`,
        )
        person('I read the whole request. Send it.')
        return { verdict: 'allow' }
      },
      async 'sampling-result'({ cause, result }) {
        const blocks = Array.isArray(result.content) ? result.content : [result.content]
        for (const block of blocks) {
          if (block.type === 'text') transcript.say('planner', planner, answerText(block.text))
        }
        person(`I read the answer. Give it to ${cause.server}.`)
        return { verdict: 'allow' }
      },
      async roots({ cause, roots }) {
        transcript.say(
          'host',
          'Host',
          `${cause.server} requests its roots. It would see ${roots.length === 1 ? 'one' : roots.length}: ${roots.map((root) => root.name).join(', ')}`,
        )
        person('Yes, share them.')
        return { verdict: 'allow' }
      },
    },
  }
}

/** Recommendations as a list, since JSON is hard to read. */
function answerText(text: string): string {
  const list = recordsIn(parseJson(text), 'recommendations')
  return list.length === 0
    ? text
    : list.map((entry, n) => `${n + 1}. ${entry.id}: ${entry.reason}`).join('\n')
}
