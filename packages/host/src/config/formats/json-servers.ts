import { isRecord, type JsonRecord, valueAt } from '../../shared/json.ts'
import type { ConfigInput } from '../../types/index.ts'
import type { Draft } from '../draft.ts'
import type { Path } from '../reader.ts'
import { type ConfigFormat, entryDraft, type ReadServers, type TimeoutUnit } from './entry.ts'

/**
 * `{ "mcpServers": { name: entry } }`: Jackfield, Claude Code and Desktop, Cursor, Windsurf, Cline, Roo Code, Gemini CLI and most
 * others, in JSON or YAML. A list of entries with names is accepted too.
 */
export const mcpServers: ConfigFormat = {
  name: 'mcpServers',
  matches: (document) => document['mcpServers'] !== undefined || document['jackfield'] !== undefined,
  read(document, file) {
    const problems: ReadServers['problems'] = []
    const drafts = toDrafts(document['mcpServers'], ['mcpServers'], timeoutUnitOf(file), problems)
    return { drafts, inputs: readInputs(document['inputs'], problems), problems }
  },
}

/** `~/.claude.json`: the user's servers, and those of the working folder. */
export const claudeCode: ConfigFormat = {
  name: 'Claude Code',
  matches: (document, file) =>
    /[\\/]\.claude\.json$/.test(file) && (isRecord(document['mcpServers']) || isRecord(document['projects'])),
  read(document, _file, workspace) {
    const problems: ReadServers['problems'] = []
    const { projects } = document
    const project = isRecord(projects) ? projects[workspace] : undefined
    const projectServers = isRecord(project) ? project['mcpServers'] : undefined
    const local = toDrafts(projectServers, ['projects', workspace, 'mcpServers'], 'milliseconds', problems)
    const userServers = toDrafts(document['mcpServers'], ['mcpServers'], 'milliseconds', problems)
    const names = local.map(({ name }) => name)
    return {
      drafts: [...local, ...userServers.filter(({ name }) => !names.includes(name))],
      inputs: [],
      problems,
    }
  },
}

/** Gemini CLI: `mcpServers` in `.gemini/settings.json`, where variables may also be written `$NAME`. */
export const geminiCli: ConfigFormat = {
  name: 'Gemini CLI',
  matches: (document, file) =>
    /[\\/]\.gemini[\\/]settings\.json$/.test(file) && document['mcpServers'] !== undefined,
  read(document) {
    const problems: ReadServers['problems'] = []
    const value = bracedVariables(document['mcpServers'])
    return { drafts: toDrafts(value, ['mcpServers'], 'milliseconds', problems), inputs: [], problems }
  },
}

function bracedVariables(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/\$([A-Za-z_]\w*)/g, (_, name) => `\${${name}}`)
  if (Array.isArray(value)) return value.map(bracedVariables)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, bracedVariables(item)]))
}

/** `.vscode/mcp.json`: `servers` and `inputs`. */
export const vsCode: ConfigFormat = {
  name: 'VS Code',
  matches: (document) => isRecord(document['servers']) || isVsCodeSettings(document),
  read(document) {
    const problems: ReadServers['problems'] = []
    const [section, path]: [JsonRecord, Path] = isRecord(document['servers'])
      ? [document, []]
      : settingsOf(document)
    const drafts = toDrafts(section['servers'], [...path, 'servers'], 'milliseconds', problems)
    return { drafts, inputs: readInputs(section['inputs'], problems), problems }
  },
}

function isVsCodeSettings(document: JsonRecord): boolean {
  return isRecord(settingsOf(document)[0]['servers'])
}

/** Settings and dev containers use other names for the same content. */
function settingsOf(document: JsonRecord): [JsonRecord, Path] {
  const places: Path[] = [['mcp'], ['customizations', 'vscode', 'mcp']]
  for (const path of places) {
    const value = valueAt(document, path)
    if (isRecord(value) && isRecord(value['servers'])) return [value, path]
  }
  return [{}, []]
}

function toDrafts(
  value: unknown,
  path: Path,
  timeouts: TimeoutUnit,
  problems: ReadServers['problems'],
): Draft[] {
  if (value === undefined) return []
  const entries: [string, unknown, Path][] = Array.isArray(value)
    ? value.map((item: unknown, index) => [entryName(item), item, [...path, index]])
    : isRecord(value)
      ? Object.entries(value).map(([name, item]) => [name, item, [...path, name]])
      : []
  if (!Array.isArray(value) && !isRecord(value)) {
    const kind = value === null ? 'null' : `a ${typeof value}`
    problems.push({ path, severity: 'error', message: `must be an object, not ${kind}` })
  }
  return entries.map(([name, item, entryPath]) => {
    const draft = entryDraft(name, item, entryPath, timeouts)
    return name.trim() === '' ? draft.addError(entryPath, 'needs a name') : draft
  })
}

function entryName(item: unknown): string {
  return isRecord(item) && typeof item['name'] === 'string' ? item['name'] : ''
}

/** Cline and Roo Code use seconds. */
function timeoutUnitOf(file: string): TimeoutUnit {
  return /(?:cline_mcp_settings|[\\/]mcp_settings)\.json$|[\\/]\.roo[\\/]mcp\.json$/.test(file)
    ? 'seconds'
    : 'milliseconds'
}

/** The `inputs` of a file: values that the user is asked for once. */
function readInputs(value: unknown, problems: ReadServers['problems']): ConfigInput[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) {
    problems.push({ path: ['inputs'], severity: 'error', message: 'must be a list' })
    return []
  }
  return value.flatMap((item: unknown, index) => {
    const path = ['inputs', index]
    if (!isRecord(item) || typeof item['id'] !== 'string') {
      problems.push({ path, severity: 'error', message: 'must be an object with an "id"' })
      return []
    }
    const { id, type, description, password, options } = item
    if (type === 'command') {
      const message = `is computed by another program (type "command"). You are asked for \${input:${id}} instead`
      problems.push({ path, severity: 'warning', message })
    }
    const texts = Array.isArray(options) ? options.map(optionText).filter((text) => text !== undefined) : []
    const defaultValue = item['default']
    return [
      {
        id,
        ...(typeof description === 'string' && { description }),
        ...(password === true && { password }),
        ...(typeof defaultValue === 'string' && { default: defaultValue }),
        ...(texts.length > 0 && { options: texts }),
      },
    ]
  })
}

function optionText(option: unknown): string | undefined {
  if (typeof option === 'string') return option
  return isRecord(option) && typeof option['value'] === 'string' ? option['value'] : undefined
}
