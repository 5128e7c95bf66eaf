import { isRecord, type JsonRecord } from '../../shared/json.ts'
import { Draft } from '../draft.ts'
import type { Path } from '../reader.ts'
import { type ConfigFormat, notAnEntry, serversByName, unusedField } from './entry.ts'

/** Codex: `[mcp_servers.name]` in `config.toml`. */
export const codex: ConfigFormat = {
  name: 'Codex',
  matches: (document) => isRecord(document['mcp_servers']),
  read: (document) => serversByName(document['mcp_servers'], toDraft),
}

const ignoredFields = new Set([
  'name',
  'description',
  'required',
  'experimental_environment',
  'supports_parallel_tool_calls',
])

function toDraft(name: string, entry: unknown): Draft {
  const path = ['mcp_servers', name]
  const draft = new Draft(name, path)
  if (!isRecord(entry)) return draft.addError(path, notAnEntry(entry))
  for (const [key, value] of Object.entries(entry)) readEntry(draft, key, value, [...path, key], entry)
  return draft
}

function readEntry(draft: Draft, key: string, value: unknown, from: Path, entry: JsonRecord): void {
  if (key === 'command' || key === 'cwd' || key === 'url' || key === 'args') draft.set(key, value, from)
  else if (key === 'env') draft.group('env', value, from)
  else if (key === 'http_headers') draft.group('headers', value, from)
  else if (key === 'env_vars' && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const variable: unknown = isRecord(item) ? item['name'] : item
      if (typeof variable === 'string') draft.setIn('env', variable, `\${${variable}:-}`, [...from, index])
      else draft.addError([...from, index], 'must be the name of a variable')
    }
  } else if (key === 'env_http_headers' && isRecord(value)) {
    for (const [header, variable] of Object.entries(value)) {
      if (typeof variable === 'string') draft.setIn('headers', header, `\${${variable}}`, [...from, header])
      else draft.addError([...from, header], 'must be the name of a variable')
    }
  } else if (key === 'bearer_token_env_var' && typeof value === 'string') {
    draft.setIn('headers', 'Authorization', `Bearer \${${value}}`, from)
  } else if (key === 'enabled' && typeof value === 'boolean') draft.set('disabled', !value, from)
  else if (key === 'startup_timeout_sec' && typeof value === 'number')
    draft.set('connectTimeoutMs', Math.round(value * 1000), from)
  else if (key === 'startup_timeout_ms') {
    if (entry['startup_timeout_sec'] === undefined) draft.set('connectTimeoutMs', value, from)
  } else if (key === 'tool_timeout_sec' && typeof value === 'number')
    draft.set('callTimeoutMs', Math.round(value * 1000), from)
  else if (key === 'enabled_tools') draft.setIn('tools', 'only', value, from)
  else if (key === 'disabled_tools') draft.setIn('tools', 'without', value, from)
  else if (key === 'scopes') draft.setIn('auth', 'scopes', value, from)
  else if (key === 'bearer_token')
    draft.addError(
      from,
      'contains a token in plain text, which Codex itself refuses: use bearer_token_env_var',
    )
  else if (!ignoredFields.has(key)) draft.addWarning(from, unusedField)
}
