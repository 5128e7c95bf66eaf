import type { Host, Model, ModelReply, ModelRequest } from '../../types/index.ts'
import { toolUses } from './blocks.ts'

/** Sends a request to a model and writes its row. */
export async function askModel(
  host: Host,
  model: Model,
  request: ModelRequest,
): Promise<{ reply: ModelReply; row: number }> {
  const started = performance.now()
  const row = { kind: 'model', server: null, cause: null } as const
  try {
    const reply = await model.generate(request)
    const uses = toolUses(reply)
    const wants = uses.length === 0 ? '' : `, wants ${uses.map((use) => use.name).join(', ')}`
    const id = host.record({
      ...row,
      summary: `${model.id} answered${wants}`,
      outcome: 'ok',
      durationMs: Math.round(performance.now() - started),
      detail: {
        model: reply.model,
        stopReason: reply.stopReason,
        usage: reply.usage ?? null,
        content: reply.content,
        ...(reply.unreadable !== undefined && { unreadable: reply.unreadable }),
      },
    })
    return { reply, row: id }
  } catch (error) {
    const cancelled = request.signal?.aborted === true
    host.record({
      ...row,
      summary: cancelled ? `${model.id} was interrupted` : `${model.id} gave no answer`,
      outcome: cancelled ? 'cancelled' : 'error',
      durationMs: Math.round(performance.now() - started),
      detail: { error: error instanceof Error ? error.message : String(error) },
    })
    throw error
  }
}
