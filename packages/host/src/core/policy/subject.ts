import type { JsonRecord } from '../../shared/json.ts'
import type { Caller, CatalogTool, ServerConfig } from '../../types/index.ts'
import type { PolicySubject } from './policy.ts'

/** A call as policy sees it. */
export function subjectOf(
  { server, tool }: CatalogTool,
  { identity, config }: { identity: string; config: ServerConfig },
  args: JsonRecord,
  { caller, conversation }: { caller: Caller; conversation?: string | undefined },
): PolicySubject {
  const base = 'command' in config ? (config.cwd ?? process.cwd()) : undefined
  return { server, identity, tool, arguments: args, caller, conversation, base, gives: config.labels }
}
