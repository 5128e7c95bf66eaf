import { invalidParams } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ServerCapabilities, SubscriptionFilter } from '../protocol/definitions.ts'
import { MetaKey } from '../protocol/meta.ts'
import type { ServerNotification } from '../protocol/methods.ts'
import { type Change, type Changes, changesFor, changingLists, listFlags } from '../request/changes.ts'
import type { Exchange, Outcome } from '../request/exchange.ts'
import type { RequestLimits } from '../request/limits.ts'

/**
 * Serves `subscriptions/listen`: acknowledges the filter, then sends notifications until the exchange is over.
 * @param allowed whether the client may subscribe to a resource; others are left out
 */
export async function listen(
  changes: Changes,
  capabilities: ServerCapabilities,
  exchange: Exchange,
  allowed: (uri: string) => boolean = () => true,
): Promise<Outcome> {
  const acknowledged = acknowledgedFilter(exchange, capabilities, allowed)
  const _meta = { [MetaKey.subscriptionId]: exchange.id }
  const uris = new Set(acknowledged.resourceSubscriptions)
  const watching = changes.watch((change) => wants(acknowledged, uris, change), exchange.signal, exchange)
  const subscription = await changes.subscribe?.(acknowledged, exchange)
  try {
    exchange.notify({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: subscription?.acknowledged ?? acknowledged, _meta },
    })
    for await (const change of watching) {
      for (const one of changesFor(change, acknowledged)) {
        const notification = notificationOf(one, _meta)
        if (notification !== undefined) exchange.notify(notification)
      }
    }
    return { type: 'complete', result: { _meta } }
  } finally {
    subscription?.release()
  }
}

function wants(filter: SubscriptionFilter, uris: ReadonlySet<string>, change: Change): boolean {
  switch (change.type) {
    case 'resource':
      return uris.has(change.uri)
    case 'elicitation':
    case 'log':
      // Revision 2026-07-28 has log messages only with the response to a request that enables them.
      return false
    case 'anything':
      return true
    default:
      return filter[listFlags[change.type]] === true
  }
}

/** The notification of a change; undefined for `anything`, which has none. */
export function notificationOf(change: Change, meta?: JsonObject): ServerNotification | undefined {
  const own = meta === undefined ? {} : { _meta: { ...meta } }
  switch (change.type) {
    case 'resource':
      return { method: 'notifications/resources/updated', params: { uri: change.uri, ...own } }
    case 'elicitation':
      return { method: 'notifications/elicitation/complete', params: { elicitationId: change.id, ...own } }
    case 'log': {
      const { level, data, logger } = change
      const params = { level, data, ...(logger === undefined ? {} : { logger }) }
      return { method: 'notifications/message', params }
    }
    case 'anything':
      return undefined
    default:
      return { method: `notifications/${change.type}/list_changed`, params: own }
  }
}

function acknowledgedFilter(
  { params, limits }: Exchange,
  capabilities: ServerCapabilities,
  allowed: (uri: string) => boolean,
): SubscriptionFilter {
  const filter = params['notifications']
  if (!isObject(filter))
    throw invalidParams('"notifications" must be an object that names the notifications to subscribe to')
  const { resourceSubscriptions } = filter
  const acknowledged: SubscriptionFilter = {}
  for (const list of changingLists) {
    const flag = listFlags[list]
    const value = filter[flag]
    if (value !== undefined && typeof value !== 'boolean')
      throw invalidParams(`"${flag}" must be true or false`)
    if (value === true && capabilities[list]?.listChanged === true) acknowledged[flag] = true
  }
  if (resourceSubscriptions !== undefined && capabilities.resources?.subscribe === true) {
    acknowledged.resourceSubscriptions = urisOf(resourceSubscriptions, limits).filter(allowed)
  }
  return acknowledged
}

function urisOf(value: unknown, { subscribedUris, uriChars }: RequestLimits): string[] {
  if (!Array.isArray(value) || value.length > subscribedUris) {
    throw invalidParams(`"resourceSubscriptions" must be a list of at most ${subscribedUris} URIs`)
  }
  const uris = value.filter((uri) => typeof uri === 'string' && uri.length <= uriChars)
  if (uris.length !== value.length) {
    throw invalidParams(`"resourceSubscriptions" must contain URIs of at most ${uriChars} characters`)
  }
  return uris
}
