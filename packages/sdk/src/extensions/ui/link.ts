import { McpError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { AppValue } from './app.ts'

/** Who may call a tool: the model, the app that stands beside the conversation, or both. */
export type Visibility = 'model' | 'app'

/** What a tool says about the app that shows its results. */
export interface ToolLink {
  readonly resourceUri: string | undefined
  readonly visibility: readonly Visibility[]
}

const both: readonly Visibility[] = ['model', 'app']

/**
 * Links a tool to the app that shows its results, as the tool's `meta`. Give the tool's result as text too: models and
 * hosts without apps have nothing else.
 * @param visibility who may call the tool. Default: the model and the app.
 */
export function shownIn(
  app: AppValue,
  { visibility = both }: { visibility?: readonly Visibility[] } = {},
): JsonObject {
  return { ui: { resourceUri: app.uri, visibility: [...visibility] } }
}

/**
 * What a tool's `_meta` says about apps; undefined when it says nothing.
 * @throws McpError 'INVALID' for what the extension does not allow
 */
export function linkIn(tool: string, meta: JsonObject | undefined): ToolLink | undefined {
  if (meta?.['ui/resourceUri'] !== undefined) {
    throw new McpError(
      'INVALID',
      `Tool "${tool}" uses "ui/resourceUri", which is given up: link it with shownIn()`,
    )
  }
  const ui = meta?.['ui']
  if (ui === undefined) return undefined
  const { resourceUri, visibility = both } = isObject(ui) ? ui : { resourceUri: 0 }
  if (resourceUri !== undefined && typeof resourceUri !== 'string') {
    throw new McpError('INVALID', `Tool "${tool}" must say in "ui" which app shows it, by a "resourceUri"`)
  }
  if (!Array.isArray(visibility) || visibility.length === 0 || !visibility.every(isVisibility)) {
    throw new McpError('INVALID', `Tool "${tool}" must be visible to "model", "app" or both`)
  }
  return { resourceUri, visibility }
}

function isVisibility(value: unknown): value is Visibility {
  return value === 'model' || value === 'app'
}
