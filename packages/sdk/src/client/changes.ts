import type { JsonRpcNotification } from '../jsonrpc/message.ts'
import type { SubscriptionFilter } from '../protocol/definitions.ts'
import type { ServerChange } from './types.ts'

/** The change a notice tells of, or undefined when it tells of none. */
export function changeIn({ method, params }: JsonRpcNotification): ServerChange | undefined {
  switch (method) {
    case 'notifications/tools/list_changed':
      return { type: 'tools' }
    case 'notifications/prompts/list_changed':
      return { type: 'prompts' }
    case 'notifications/resources/list_changed':
      return { type: 'resources' }
    case 'notifications/resources/updated':
      return typeof params?.['uri'] === 'string' ? { type: 'resource', uri: params['uri'] } : undefined
    default:
      return undefined
  }
}

/** Whether a watcher of `filter` wants to hear of a change: of a resource also by what lies under its URI. */
export function wants(filter: SubscriptionFilter, change: ServerChange): boolean {
  switch (change.type) {
    case 'tools':
      return filter.toolsListChanged === true
    case 'prompts':
      return filter.promptsListChanged === true
    case 'resources':
      return filter.resourcesListChanged === true
    case 'resource':
      return filter.resourceSubscriptions?.some((uri) => change.uri.startsWith(uri)) === true
  }
}

/** One change of every kind a watcher may have missed. */
export function everyChange(filter: SubscriptionFilter): ServerChange[] {
  const kinds: ServerChange[] = [{ type: 'tools' }, { type: 'prompts' }, { type: 'resources' }]
  const uris = (filter.resourceSubscriptions ?? []).map((uri): ServerChange => ({ type: 'resource', uri }))
  return [...kinds.filter((change) => wants(filter, change)), ...uris]
}
