import { inWords, isRecord, type JsonRecord } from '../../shared/json.ts'
import type { ConfigInput } from '../../types/index.ts'
import { Draft } from '../draft.ts'
import type { Path } from '../reader.ts'
import { type ConfigFormat, notAnEntry, unusedField } from './entry.ts'

const builtinTypes = new Set(['builtin', 'platform', 'frontend', 'inline_python'])
const ignoredFields = new Set(['type', 'name', 'display_name', 'description', 'bundled'])

/** Goose: `extensions` in `config.yaml`. Parts of Goose itself are left out. */
export const goose: ConfigFormat = {
  name: 'Goose',
  matches: (document, file) => /\.ya?ml$/i.test(file) && isRecord(document['extensions']),
  read(document) {
    const extensions = isRecord(document['extensions']) ? document['extensions'] : {}
    const inputs: ConfigInput[] = []
    const drafts = Object.entries(extensions).flatMap(([name, entry]) =>
      isRecord(entry) && builtinTypes.has(inWords(entry['type'])) ? [] : [toDraft(name, entry, inputs)],
    )
    return { drafts, inputs, problems: [] }
  },
}

function toDraft(name: string, entry: unknown, inputs: ConfigInput[]): Draft {
  const path = ['extensions', name]
  const draft = new Draft(name, path)
  if (!isRecord(entry)) return draft.addError(path, notAnEntry(entry))
  for (const [key, value] of Object.entries(entry))
    readEntry(draft, key, value, [...path, key], entry, inputs)
  return draft
}

function readEntry(
  draft: Draft,
  key: string,
  value: unknown,
  from: Path,
  entry: JsonRecord,
  inputs: ConfigInput[],
): void {
  if (key === 'cmd') draft.set('command', value, from)
  else if (key === 'uri') draft.set('url', value, from)
  else if (key === 'args' || key === 'cwd') draft.set(key, value, from)
  else if (key === 'envs') {
    const group = entry['uri'] === undefined ? 'env' : undefined
    if (group !== undefined) draft.group(group, value, from)
  } else if (key === 'headers') draft.group('headers', value, from)
  else if (key === 'env_keys' && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (typeof item !== 'string' || entry['uri'] !== undefined) continue
      // Goose keeps these in its own store, so the user is asked for them once.
      draft.setIn('env', item, `\${input:${item}}`, [...from, index])
      inputs.push({ id: item, description: `${item} of ${draft.name}`, password: true })
    }
  } else if (key === 'enabled' && typeof value === 'boolean') draft.set('disabled', !value, from)
  else if (key === 'timeout' && typeof value === 'number')
    draft.set('callTimeoutMs', Math.round(value * 1000), from)
  else if (key === 'available_tools') {
    if (!Array.isArray(value) || value.length > 0) draft.setIn('tools', 'only', value, from)
  } else if (!ignoredFields.has(key) && value !== null) draft.addWarning(from, unusedField)
}
