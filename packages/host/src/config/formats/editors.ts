import { isRecord, type JsonRecord } from '../../shared/json.ts'
import { Draft } from '../draft.ts'
import type { Path } from '../reader.ts'
import { type ConfigFormat, entryDraft, notAnEntry, serversByName, unusedField } from './entry.ts'

/** Zed: `context_servers` in `settings.json`. */
export const zed: ConfigFormat = {
  name: 'Zed',
  matches: (document) => isRecord(document['context_servers']),
  read: (document) => serversByName(document['context_servers'], zedDraft),
}

function zedDraft(name: string, entry: unknown): Draft {
  const path = ['context_servers', name]
  if (!isRecord(entry)) return new Draft(name, path).addError(path, notAnEntry(entry))
  const { command } = entry
  if (command === undefined && entry['url'] === undefined) {
    const message = 'is an extension of Zed, which starts it itself. Write its command here to use it'
    return new Draft(name, path).addError(path, message)
  }
  if (!isRecord(command)) {
    const { settings: _settings, remote: _remote, ...rest } = entry
    return entryDraft(name, rest, path)
  }
  // Older settings nest the program, its arguments and variables one level deeper.
  const draft = new Draft(name, path)
  draft.set('command', command['path'], [...path, 'command', 'path'])
  draft.set('args', command['args'], [...path, 'command', 'args'])
  if (command['env'] !== null) draft.group('env', command['env'], [...path, 'command', 'env'])
  if (typeof entry['enabled'] === 'boolean') draft.set('disabled', !entry['enabled'], [...path, 'enabled'])
  return draft
}

/** OpenCode: `mcp` in `opencode.json`, with variables as `{env:NAME}` and `{file:path}`. */
export const openCode: ConfigFormat = {
  name: 'OpenCode',
  matches: ({ mcp }) =>
    isRecord(mcp) &&
    Object.values(mcp).some(
      (entry) => isRecord(entry) && (entry['type'] === 'local' || entry['type'] === 'remote'),
    ),
  read: ({ mcp }) => serversByName(mcp, openCodeDraft),
}

function openCodeDraft(name: string, entry: unknown): Draft {
  const path = ['mcp', name]
  const draft = new Draft(name, path)
  if (!isRecord(entry)) return draft.addError(path, notAnEntry(entry))
  if (entry['command'] === undefined && entry['url'] === undefined && typeof entry['enabled'] === 'boolean')
    return draft.addError(path, 'only switches a server of another file on or off')
  for (const [key, value] of Object.entries(entry))
    readOpenCodeEntry(draft, key, toJackfieldVariables(value), [...path, key])
  return draft
}

function readOpenCodeEntry(draft: Draft, key: string, value: unknown, from: Path): void {
  if (key === 'command' && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (index === 0) draft.set('command', item, [...from, 0])
      else draft.add('args', item, [...from, index])
    }
  } else if (key === 'command' || key === 'url' || key === 'cwd') draft.set(key, value, from)
  else if (key === 'environment') draft.group('env', value, from)
  else if (key === 'headers') draft.group('headers', value, from)
  else if (key === 'enabled' && typeof value === 'boolean') draft.set('disabled', !value, from)
  else if (key === 'timeout') draft.set('connectTimeoutMs', value, from)
  else if (key === 'oauth' && (value === false || isRecord(value))) readOAuth(draft, value, from)
  else if (key !== 'type') draft.addWarning(from, unusedField)
}

function readOAuth(draft: Draft, value: false | JsonRecord, from: Path): void {
  if (value === false) {
    draft.set('auth', false, from)
    return
  }
  draft.setIn('auth', 'clientId', value['clientId'], [...from, 'clientId'])
  draft.setIn('auth', 'clientSecret', value['clientSecret'], [...from, 'clientSecret'])
  const { scope } = value
  if (typeof scope === 'string')
    draft.setIn('auth', 'scopes', scope.split(/\s+/).filter(Boolean), [...from, 'scope'])
}

function toJackfieldVariables(value: unknown): unknown {
  if (typeof value === 'string')
    return value.replace(/\{(env|file):([^}]*)\}/g, (_, kind, name) =>
      kind === 'env' ? `\${${name}:-}` : `\${file:${name}}`,
    )
  if (Array.isArray(value)) return value.map(toJackfieldVariables)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toJackfieldVariables(item)]))
}
