/** The `_meta` keys the specification reserves. */
export const MetaKey = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  /** Only on 2025-11-25: the task a message is about. */
  relatedTask: 'io.modelcontextprotocol/related-task',
  progressToken: 'progressToken',
} as const

/** Ties progress notices to the request that asked for them. */
export type ProgressToken = string | number

/** Levels from least to most severe. */
export const loggingLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const

/** Whether a message of one level is at least as severe as the least severe one that is wanted. */
export function isAtLeast(
  level: (typeof loggingLevels)[number],
  wanted: (typeof loggingLevels)[number] | undefined,
): boolean {
  return wanted !== undefined && loggingLevels.indexOf(level) >= loggingLevels.indexOf(wanted)
}

const extensionId =
  /^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*\/[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?$/

/** Whether a text can name an extension: a prefix of labels, a slash and a name. */
export function isExtensionId(text: string): boolean {
  return extensionId.test(text)
}
