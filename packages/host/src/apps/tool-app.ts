import type { Tool } from '@jackfield/sdk'

/** The supported revision of the apps extension. */
export const appProtocol = '2026-01-26'

/** The URI of the page for a tool's calls; undefined if it has none. */
export function appOf({ _meta: meta }: Pick<Tool, '_meta'>): string | undefined {
  // The flat form predates the first revision; hosts still accept it.
  const uri = members(meta?.['ui'])['resourceUri'] ?? meta?.['ui/resourceUri']
  return typeof uri === 'string' && uri.startsWith('ui://') ? uri : undefined
}

/** Whether a tool is visible to models or to its server's app. Default: both. */
export function isVisibleTo(who: 'model' | 'app', { _meta: meta }: Pick<Tool, '_meta'>): boolean {
  const { visibility } = members(meta?.['ui'])
  return !Array.isArray(visibility) || visibility.includes(who)
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
