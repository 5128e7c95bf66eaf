import { McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { inWords, isRecord, type JsonRecord } from '../json.ts'
import { oneLine } from '../text.ts'
import type { NeededValue } from '../types/index.ts'
import { isPlainName } from './archive.ts'

/** How the server of a bundle is started, with its variables as they stand. */
export interface BundleCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** What a bundle says about itself. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly author?: string
  readonly start: BundleCommand
  /** What the person is asked for, in its order. */
  readonly needs: readonly Omit<NeededValue, 'secret'>[]
  /** Those of `needs` that are secrets. */
  readonly sensitive: ReadonlySet<string>
}

const versions = ['0.1', '0.2', '0.3']
const kinds: Readonly<Record<string, NeededValue['kind']>> = {
  string: 'text',
  number: 'number',
  boolean: 'boolean',
  file: 'file',
  directory: 'directory',
}
const plainName = /^[A-Za-z0-9][\w.@-]{0,99}$/
const plainVersion = /^[A-Za-z0-9][\w.+-]{0,99}$/

/**
 * Reads `manifest.json`, for one platform.
 * @throws McpError 'INVALID' for one that cannot be followed here
 */
export function readManifest(text: string, platform: NodeJS.Platform): Manifest {
  const manifest = object(parsed(text), 'manifest.json')
  const form = inWords(manifest['manifest_version'] ?? manifest['dxt_version'])
  if (!versions.includes(form)) {
    throw invalid(`is written for manifest version ${oneLine(form)}; known here are ${versions.join(', ')}`)
  }
  const name = string(manifest['name'], 'name')
  const version = string(manifest['version'], 'version')
  const isFolder = plainName.test(name) && plainVersion.test(version)
  if (!isFolder || ![name, version].every(isPlainName)) {
    throw invalid('has a name or a version that cannot be the name of a folder')
  }
  const { platforms } = isRecord(manifest['compatibility']) ? manifest['compatibility'] : {}
  if (Array.isArray(platforms) && !platforms.includes(platform)) {
    throw invalid(`is made for ${oneLine(platforms.map(inWords).join(', '))}, and this is ${platform}`)
  }
  const { author, user_config: asked = {} } = manifest
  const by = isRecord(author) ? author['name'] : author
  const needs = Object.entries(object(asked, 'user_config'))
  return {
    name,
    version,
    ...(typeof by === 'string' && { author: by }),
    start: startOf(object(manifest['server'], 'server'), platform),
    needs: needs.map(([id, item]) => needOf(id, object(item, `user_config.${id}`))),
    sensitive: new Set(
      needs.flatMap(([id, item]) => (isRecord(item) && item['sensitive'] === true ? [id] : [])),
    ),
  }
}

function startOf(server: JsonRecord, platform: NodeJS.Platform): BundleCommand {
  const { type, entry_point: entry, mcp_config: written } = server
  const config = written === undefined ? defaultFor(type, entry) : object(written, 'server.mcp_config')
  const { platform_overrides: overrides } = config
  const own = isRecord(overrides) && isRecord(overrides[platform]) ? overrides[platform] : {}
  const merged: JsonRecord = { ...config, ...own }
  const { args = [] } = merged
  if (!Array.isArray(args) || args.some((arg) => typeof arg !== 'string')) {
    throw invalid('has arguments that are no list of texts')
  }
  return {
    command: string(merged['command'], 'server.mcp_config.command'),
    args: args.map(String),
    env: { ...record(config['env']), ...record(own['env']) },
  }
}

function defaultFor(type: unknown, entry: unknown): JsonRecord {
  const file = `\${__dirname}/${string(entry, 'server.entry_point')}`
  switch (type) {
    case 'node':
      return { command: 'node', args: [file] }
    case 'python':
      return { command: 'python3', args: [file] }
    case 'uv':
      return { command: 'uv', args: ['run', '--directory', `\${__dirname}`, file] }
    case 'binary':
      return { command: file, args: [] }
    default:
      throw invalid(
        `has a server of the type ${oneLine(inWords(type))}; known are node, python, binary and uv`,
      )
  }
}

function needOf(id: string, item: JsonRecord): Omit<NeededValue, 'secret'> {
  const { type, title, description, required, multiple, min, max } = item
  const kind = Object.hasOwn(kinds, inWords(type)) ? kinds[inWords(type)] : undefined
  if (kind === undefined)
    throw invalid(`asks for "${oneLine(id)}" of the unknown type ${oneLine(inWords(type))}`)
  const preset = item['default']
  const single = Array.isArray(preset) ? preset[0] : preset
  const words = [title, description].filter((text) => typeof text === 'string')
  return {
    id,
    kind,
    required: required === true,
    ...(words.length > 0 && { description: words.join(': ') }),
    ...(multiple === true && { multiple: true }),
    ...(typeof min === 'number' && { min }),
    ...(typeof max === 'number' && { max }),
    ...(['string', 'number', 'boolean'].includes(typeof single) && { default: String(single) }),
  }
}

function record(value: unknown): Record<string, string> {
  if (value === undefined) return {}
  const all = Object.entries(object(value, 'server.mcp_config.env'))
  return Object.fromEntries(all.map(([name, text]) => [name, string(text, `env.${name}`)]))
}

function parsed(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    throw invalid('has a manifest.json that is no JSON')
  }
}

function object(value: unknown, what: string): JsonRecord {
  if (isRecord(value)) return value
  throw invalid(`has no "${oneLine(what)}" that is an object`)
}

function string(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw invalid(`has no "${oneLine(what)}" that is a text`)
}

function invalid(what: string): McpError {
  return new McpError('INVALID', `The bundle ${what}`)
}
