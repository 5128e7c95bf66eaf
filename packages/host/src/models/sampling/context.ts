import type { CreateMessageParams, SamplingMessage } from '@jackfield/sdk'
import type { ActivityLog } from '../../log/store/activity-log.ts'
import { isRecord } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type { Activity, Cause, ContextText, SamplingContext } from '../../types/index.ts'

const maxTexts = 20
const maxCharacters = 4_000
const lookedAt = 500

/**
 * What a server's `includeContext` would add: calls of the conversation that its request belongs to, with what they
 * gave, of that server or of all. Undefined where it asks for none.
 */
export function contextFor(
  { includeContext }: CreateMessageParams,
  cause: Cause,
  activity: Pick<ActivityLog, 'list'>,
): SamplingContext | undefined {
  if (includeContext !== 'thisServer' && includeContext !== 'allServers') return undefined
  const { conversation, server } = cause
  if (conversation === undefined) return { wanted: includeContext, texts: [] }
  const only = includeContext === 'thisServer' ? { server } : {}
  const texts = activity
    .list({ kind: 'call', limit: lookedAt, ...only })
    .filter(({ detail, outcome }) => detail['conversation'] === conversation && outcome === 'ok')
    .flatMap(textOf)
    .slice(-maxTexts)
  return { wanted: includeContext, texts }
}

/** The texts as a message that stands before the others. */
export function contextMessage({ texts }: SamplingContext): SamplingMessage {
  return { role: 'user', content: texts.map(({ text }) => ({ type: 'text', text })) }
}

function textOf({ server, detail }: Activity): ContextText[] {
  const { tool, arguments: args, result } = detail
  if (server === null || typeof tool !== 'string' || !isRecord(result)) return []
  const blocks: unknown[] = Array.isArray(result['content']) ? result['content'] : []
  const said = blocks
    .flatMap((block) => (isRecord(block) && typeof block['text'] === 'string' ? [block['text']] : []))
    .join('\n')
  if (said === '') return []
  const label = oneLine(`${tool} ${JSON.stringify(args ?? {})}`)
  const whole = `${label} of ${server} gave:\n${said}`
  const over = whole.length - maxCharacters
  const text = over > 0 ? `${whole.slice(0, maxCharacters)}… [${over} more characters]` : whole
  return [{ server, label, text }]
}
