import { modelsFromEnvironment } from '../../../packages/host/src/models/environment.ts'
import { ModelError } from '../../../packages/host/src/models/model-error.ts'
import type { Model, ModelReply, ModelRequest } from '../../../packages/host/src/types/index.ts'
import { isObject } from '../../setup/json.ts'
import type { Random } from '../random.ts'
import { inEventsOrJson, modelReplies } from './fuzz-model-replies.ts'
import { cut, mustHold, type Target } from './fuzz-target.ts'

const key = 'sk-secret-of-the-person'
const models = modelsFromEnvironment({
  ANTHROPIC_API_KEY: key,
  OPENAI_API_KEY: key,
  GEMINI_API_KEY: key,
  OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:1/v1',
  OPENAI_COMPATIBLE_API_KEY: key,
  OPENAI_COMPATIBLE_MODEL: 'local',
})
const request: ModelRequest = {
  system: 'Be short.',
  messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
  tools: [{ name: 'get.weather', inputSchema: { type: 'object', properties: {} } }],
  maxTokens: 100_000,
}
const reasons: unknown[] = ['maxTokens', 'contentFilter', 'toolUse', 'stopSequence', 'endTurn']
class GivenUp extends Error {}

/** What providers of language models reply, in one piece and as a stream. */
export function modelTargets(): Target[] {
  return Object.entries(modelReplies).map(([provider, { whole, streamed }]) => ({
    name: `replies of ${provider}`,
    share: 1,
    seeds: [whole[0], ...whole.slice(1), ...streamed],
    form: inEventsOrJson,
    run: (input, random) => replied(modelOf(provider), input, random, whole[0]),
    allows: (error) => error instanceof ModelError && error.message.length < 1_000 && error.message !== '',
  }))
}

function modelOf(provider: string): Model {
  const found = models.find(({ id }) => id.startsWith(`${provider}/`))
  if (found === undefined) throw new Error(`There is no ${provider}`)
  return found
}

/** Requests a reply, and continues the conversation with it. */
async function replied(model: Model, input: Buffer, random: Random, right: string): Promise<void> {
  const isStream = !input.toString('latin1', 0, 1).startsWith('{')
  const reply = await asked(model, request, isStream !== random.fraction() < 0.03, () =>
    answer(input, random),
  )
  if (reply === undefined) return
  wellFormed(reply)
  if (random.fraction() > 0.3) return
  const content = Array.isArray(reply.content) ? reply.content : [reply.content]
  const results = content.flatMap((block) =>
    block.type === 'tool_use' ? [{ type: 'tool_result' as const, toolUseId: block.id, content: [] }] : [],
  )
  const next = results.length === 0 ? { type: 'text' as const, text: 'Go on' } : results
  const messages = [
    ...request.messages,
    { role: 'assistant' as const, content },
    { role: 'user' as const, content: next },
  ]
  const good = new Response(right, { headers: { 'content-type': 'application/json' } })
  const after = await asked(model, { ...request, messages }, false, () => good)
  mustHold(after !== undefined, 'after a reply the model gives no other')
}

/** Undefined where the provider was to be asked again. */
async function asked(
  model: Model,
  about: ModelRequest,
  streams: boolean,
  answered: () => Response,
): Promise<ModelReply | undefined> {
  const stop = new AbortController()
  const real = globalThis.fetch
  let text = ''
  globalThis.fetch = async (_, init) => {
    mustHold(init?.redirect === 'manual', 'a redirect is followed')
    return answered()
  }
  try {
    const reply = await model.generate({
      ...about,
      signal: stop.signal,
      onWait: ({ forMs }) => {
        mustHold(forMs >= 0 && forMs <= 60_000, 'it is waited for too long')
        stop.abort(new GivenUp())
      },
      ...(streams && {
        onText: (delta) => {
          text += delta
        },
      }),
    })
    return reply
  } catch (error) {
    mustHold(!String(error).includes(key), 'an error shows the key')
    if (error instanceof GivenUp) return undefined
    throw error
  } finally {
    globalThis.fetch = real
    mustHold(text.length < 1_000_000, 'more is said than was sent')
  }
}

function answer(input: Buffer, random: Random): Response {
  const parts = cut(input, random)
  const breaks = random.fraction() < 0.05
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const part = parts.shift()
      if (part !== undefined) controller.enqueue(new Uint8Array(part))
      else if (breaks) controller.error(new TypeError('terminated'))
      else controller.close()
    },
  })
  const isRight = random.fraction() < 0.85
  const status = isRight ? 200 : random.pick([201, 307, 400, 401, 402, 404, 413, 429, 500, 529])
  const type = input.toString('latin1', 0, 1) === '{' ? 'application/json' : 'text/event-stream'
  const headers = new Headers({ 'content-type': type })
  if (!isRight)
    headers.set('retry-after', random.pick(['1', '-1', '1e9', 'soon', '2026-01-01T00:00:00Z', '']))
  return new Response(body, { status, headers })
}

/** What a host, and the servers that asked for it, take a reply for. */
function wellFormed({ content, stopReason, model, usage }: ModelReply): void {
  mustHold(reasons.includes(stopReason), `a reply stopped for ${String(stopReason)}`)
  mustHold(typeof model === 'string', 'a reply names no model')
  const counts = usage === undefined ? [] : [usage.inputTokens, usage.outputTokens]
  mustHold(
    counts.every((count) => Number.isSafeInteger(count) && count >= 0),
    'a reply has an odd number of tokens',
  )
  for (const block of Array.isArray(content) ? content : [content]) {
    switch (block.type) {
      case 'text':
        mustHold(typeof block.text === 'string' && block.text !== '', 'a text is none')
        break
      case 'image':
        mustHold(typeof block.data === 'string' && typeof block.mimeType === 'string', 'an image is none')
        break
      case 'tool_use':
        mustHold(typeof block.id === 'string' && typeof block.name === 'string', 'a tool use has no name')
        mustHold(isObject(block.input), 'the arguments of a tool use are no object')
        break
      default:
        mustHold(false, `a model says ${block.type}`)
    }
  }
}
