import type { Tool } from '@jackfield/sdk'

/** The revision of the extension that is spoken with apps. */
export const appProtocol = '2026-01-26'

/** The URI of the page that shows a tool's calls; undefined if it has none. */
export function appOf({ _meta: meta }: Pick<Tool, '_meta'>): string | undefined {
  // The flat form is from before the first revision; hosts still accept it.
  const uri = members(meta?.['ui'])['resourceUri'] ?? meta?.['ui/resourceUri']
  return typeof uri === 'string' && uri.startsWith('ui://') ? uri : undefined
}

/** Whether a tool is for models, or for the app of its server. Default: both. */
export function isVisibleTo(who: 'model' | 'app', { _meta: meta }: Pick<Tool, '_meta'>): boolean {
  const { visibility } = members(meta?.['ui'])
  return !Array.isArray(visibility) || visibility.includes(who)
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
