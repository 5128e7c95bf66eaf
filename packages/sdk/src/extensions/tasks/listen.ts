import type { Exchange, Outcome } from '../../core/exchange.ts'
import { ErrorCode, RpcError } from '../../jsonrpc/error.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { MetaKey } from '../../protocol/meta.ts'
import type { ServerNotification } from '../../protocol/methods.ts'
import { requireExtension } from '../../server/extension.ts'
import { dialectOf } from './dialects.ts'
import type { TaskEngine } from './engine.ts'
import { tasksExtension } from './names.ts'

/** Adds tasks to a subscription: those that are the client's own are acknowledged, and told of whenever they change. */
export async function listenToTasks(
  engine: TaskEngine,
  exchange: Exchange,
  next: (exchange: Exchange) => Promise<Outcome>,
): Promise<Outcome> {
  const filter = exchange.params['notifications']
  if (!isObject(filter) || filter['taskIds'] === undefined) return next(exchange)
  requireExtension(exchange.peer, tasksExtension)
  const taskIds = await ownIds(engine, exchange, idsIn(filter['taskIds'], exchange.limits.subscribedUris))
  const notify = (notification: ServerNotification): void => {
    if (notification.method !== 'notifications/subscriptions/acknowledged') {
      exchange.notify(notification)
      return
    }
    const { params } = notification
    exchange.notify({
      ...notification,
      params: { ...params, notifications: { ...params.notifications, taskIds } },
    })
    for (const id of taskIds) {
      tell(engine, exchange, id).catch((error) => engine.server.report(error, { method: exchange.method }))
    }
  }
  return next({ ...exchange, notify })
}

async function tell(engine: TaskEngine, exchange: Exchange, id: string): Promise<void> {
  const { peer } = exchange
  const _meta = { [MetaKey.subscriptionId]: exchange.id }
  for await (const record of engine.follow(id, exchange.signal)) {
    const state = dialectOf(peer).state(record, peer, engine.server, engine.settings)
    exchange.notify({ method: 'notifications/tasks', params: { ...state, _meta } })
  }
}

function idsIn(value: unknown, most: number): string[] {
  const ids = Array.isArray(value) ? value.filter((id) => typeof id === 'string') : undefined
  if (ids === undefined || !Array.isArray(value) || ids.length < value.length) {
    throw new RpcError(ErrorCode.InvalidParams, 'Invalid params: "taskIds" must be a list of ids')
  }
  if (ids.length > most) {
    throw new RpcError(
      ErrorCode.InvalidParams,
      `Invalid params: at most ${most} tasks can be listened to at once`,
    )
  }
  return [...new Set(ids)]
}

async function ownIds(engine: TaskEngine, { peer }: Exchange, ids: readonly string[]): Promise<string[]> {
  const own: string[] = []
  for (const id of ids) {
    const found = await engine.find(peer, id).catch((error) => {
      if (error instanceof RpcError) return undefined
      throw error
    })
    if (found !== undefined) own.push(id)
  }
  return own
}
