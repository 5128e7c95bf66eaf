import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { McpError } from '@jackfield/sdk'
import { displayedValues, partsOf } from '../../config/variables.ts'
import { inWords, isRecord, type JsonRecord, parsed } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type { InstallPlan, NeededValue, StdioServerConfig, TrustFinding } from '../../types/index.ts'
import { scanCommand } from '../launch/command-scan.ts'
import { invalidBundle, isPlainName, type PackedFile, unpackArchive } from './archive.ts'
import { commandOf, placeholderFor, valuesOf, wordsOf } from './plan.ts'

/** Where bundles are unpacked, and the values of their variables. */
export interface BundleOptions {
  /** The folder of all bundles. */
  folder: string
  /** The value of `${HOME}`. */
  home: string
  /** The server's name here. Default: the name in the bundle. */
  name?: string
  /** The publisher according to the registry; the author in the bundle is then ignored. */
  publisher?: string
  /** Default that of this machine. */
  platform?: NodeJS.Platform
}

/** A bundle (`.mcpb`) that was read and not yet unpacked. */
export interface Bundle {
  /** The configuration entry that its installation adds, and the findings about it. */
  readonly plan: InstallPlan
  /** The target folder. */
  readonly folder: string
  /** SHA-256 of the bundle, in hexadecimal. */
  readonly hash: string
  /** Unpacks it, replacing an earlier version. */
  unpack(): Promise<void>
}

const variablePattern =
  /\$\{(__dirname|HOME|DESKTOP|DOCUMENTS|DOWNLOADS|pathSeparator|\/|user_config\.([^}]+))\}/g
const wholeVariablePattern = /^\$\{user_config\.([^}]+)\}$/
/** Bytes at the end of a bundle in which a signature is searched for. */
const maxSignature = 65_536
const homeFolders: Readonly<Record<string, string>> = {
  DESKTOP: 'Desktop',
  DOCUMENTS: 'Documents',
  DOWNLOADS: 'Downloads',
}

/**
 * Reads a bundle with its manifest (versions 0.1 to 0.3).
 * @throws McpError 'INVALID' for an unusable one, 'LIMIT' for one that is too large
 */
export function readBundle(bytes: Uint8Array, options: BundleOptions): Bundle {
  const files = unpackArchive(bytes)
  const manifestFile = files.find(({ path }) => path === 'manifest.json')
  if (manifestFile === undefined) throw new McpError('INVALID', 'The bundle has no manifest.json')
  const manifest = readManifest(
    Buffer.from(manifestFile.bytes).toString('utf8'),
    options.platform ?? process.platform,
  )
  const folder = join(options.folder, manifest.name, manifest.version)
  const name = options.name ?? manifest.name
  const needs = manifest.needs.map(
    (need): NeededValue => ({
      ...need,
      ...(need.default !== undefined && { default: expandFolders(need.default, folder, options.home) }),
      ...(manifest.sensitive.has(need.id) && { secret: `${name}.${need.id}`.replaceAll('}', '') }),
    }),
  )
  const start = manifest.start
  const publisher = options.publisher ?? manifest.author
  const displayedCommand = startCommand(start, folder, options.home, (id) => [`\${user_config.${id}}`])
  return {
    folder,
    hash: createHash('sha256').update(bytes).digest('hex'),
    plan: {
      name,
      version: manifest.version,
      ...(publisher !== undefined && { publisher }),
      command: commandOf(displayedCommand),
      words: wordsOf(displayedCommand),
      given: displayedValues(displayedCommand.env),
      needs,
      findings: [...scanCommand(displayedCommand), ...signatureFindings(bytes)],
      config: (values) =>
        startCommand(start, folder, options.home, (id) => {
          const need = needs.find((one) => one.id === id)
          if (need === undefined)
            throw invalidBundle(`uses "${oneLine(id)}", which is not among its user_config`)
          if (need.secret !== undefined)
            return need.required || hasValue(values, id) ? [placeholderFor(need, '')] : []
          return valuesOf(need, values).map((value) => placeholderFor(need, value))
        }),
    },
    unpack: () => unpackInto(folder, files),
  }
}

/** A signature follows the archive. It contains a certificate, but no trusted certificates are configured. */
function signatureFindings(bytes: Uint8Array): TrustFinding[] {
  if (!Buffer.from(bytes.subarray(-maxSignature)).includes('MCPB_SIG_V1')) return []
  const message = 'Its signature was not checked: compare its checksum with the one its publisher gives.'
  return [{ severity: 'notice', code: 'unchecked-signature', at: 'command', message }]
}

/** Removes the unpacked files of a bundle. */
export async function removeBundle(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}

/** The command of the server with all variables expanded. An argument that is a list value becomes several arguments. */
function startCommand(
  { command, args, env }: BundleCommand,
  folder: string,
  home: string,
  value: (id: string) => readonly string[],
): StdioServerConfig {
  const text = (written: string): string => {
    checkVariables(written)
    return written.replace(variablePattern, (same: string, name: string, id: string | undefined) =>
      id === undefined ? (folderOf(name, folder, home) ?? same) : value(id).join(','),
    )
  }
  const argumentsOf = (written: string): readonly string[] => {
    const [, id] = wholeVariablePattern.exec(written) ?? []
    return id === undefined ? [text(written)] : value(id)
  }
  const envEntries = Object.entries(env).flatMap(([name, written]): [string, string][] => {
    const [, id] = wholeVariablePattern.exec(written) ?? []
    return id !== undefined && value(id).length === 0 ? [] : [[name, text(written)]]
  })
  return {
    command: text(command),
    args: args.flatMap(argumentsOf),
    ...(envEntries.length > 0 && { env: Object.fromEntries(envEntries) }),
    cwd: folder,
  }
}

/** A bundle must not read variables and files of this machine. */
function checkVariables(written: string): void {
  const rest = written.replace(variablePattern, '')
  const read = partsOf(rest)
  if ('parts' in read && read.parts.every(({ kind }) => kind === 'text')) return
  throw new McpError('INVALID', `The bundle uses a variable that bundles do not have: ${oneLine(written)}`)
}

function expandFolders(text: string, folder: string, home: string): string {
  return text.replace(variablePattern, (same: string, name: string) => folderOf(name, folder, home) ?? same)
}

function folderOf(name: string, folder: string, home: string): string | undefined {
  if (name === '__dirname') return folder
  if (name === 'HOME') return home
  if (name === 'pathSeparator' || name === '/') return sep
  const homeFolder = homeFolders[name]
  return homeFolder === undefined ? undefined : join(home, homeFolder)
}

function hasValue(values: Readonly<Record<string, readonly string[]>>, id: string): boolean {
  return Object.hasOwn(values, id) && (values[id] ?? []).length > 0
}

async function unpackInto(folder: string, files: readonly PackedFile[]): Promise<void> {
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
  const temporaryFolder = await mkdtemp(join(dirname(folder), '.unpacking-'))
  try {
    for (const { path, bytes, executable } of files) {
      const file = join(temporaryFolder, ...path.split('/'))
      await mkdir(dirname(file), { recursive: true, mode: 0o700 })
      await writeFile(file, bytes, { mode: executable ? 0o700 : 0o600, flag: 'wx' })
    }
    await chmod(temporaryFolder, 0o700)
    await rm(folder, { recursive: true, force: true })
    await rename(temporaryFolder, folder)
  } catch (error) {
    await rm(temporaryFolder, { recursive: true, force: true })
    throw error
  }
}

/** The command of a bundle's server, with variables as written. */
interface BundleCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly author?: string
  readonly start: BundleCommand
  /** The values the user is asked for, in its order. */
  readonly needs: readonly Omit<NeededValue, 'secret'>[]
  /** The secrets among `needs`. */
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
 * Parses `manifest.json` for one platform.
 * @throws McpError 'INVALID' for unsupported content
 */
export function readManifest(text: string, platform: NodeJS.Platform): Manifest {
  const value = parsed(text)
  if (value === undefined) throw invalidBundle('has a manifest.json that is not JSON')
  const manifest = requireObject(value, 'manifest.json')
  const manifestVersion = inWords(manifest['manifest_version'] ?? manifest['dxt_version'])
  if (!versions.includes(manifestVersion)) {
    throw invalidBundle(
      `is written for manifest version ${oneLine(manifestVersion)}; known here are ${versions.join(', ')}`,
    )
  }
  const name = requireString(manifest['name'], 'name')
  const version = requireString(manifest['version'], 'version')
  const isFolderName = plainName.test(name) && plainVersion.test(version)
  if (!isFolderName || ![name, version].every(isPlainName)) {
    throw invalidBundle('has a name or a version that cannot be the name of a folder')
  }
  const { platforms } = isRecord(manifest['compatibility']) ? manifest['compatibility'] : {}
  if (Array.isArray(platforms) && !platforms.includes(platform)) {
    throw invalidBundle(`is made for ${oneLine(platforms.map(inWords).join(', '))}, and this is ${platform}`)
  }
  const { author, user_config: userConfig = {} } = manifest
  const authorName = isRecord(author) ? author['name'] : author
  const needs = Object.entries(requireObject(userConfig, 'user_config'))
  return {
    name,
    version,
    ...(typeof authorName === 'string' && { author: authorName }),
    start: readCommand(requireObject(manifest['server'], 'server'), platform),
    needs: needs.map(([id, item]) => readNeed(id, requireObject(item, `user_config.${id}`))),
    sensitive: new Set(
      needs.flatMap(([id, item]) => (isRecord(item) && item['sensitive'] === true ? [id] : [])),
    ),
  }
}

function readCommand(server: JsonRecord, platform: NodeJS.Platform): BundleCommand {
  const { type, entry_point: entry, mcp_config: written } = server
  const config =
    written === undefined ? defaultCommand(type, entry) : requireObject(written, 'server.mcp_config')
  const { platform_overrides: overrides } = config
  const platformConfig = isRecord(overrides) && isRecord(overrides[platform]) ? overrides[platform] : {}
  const merged: JsonRecord = { ...config, ...platformConfig }
  const { args = [] } = merged
  if (!Array.isArray(args) || args.some((arg) => typeof arg !== 'string')) {
    throw invalidBundle('has arguments that are not a list of strings')
  }
  return {
    command: requireString(merged['command'], 'server.mcp_config.command'),
    args: args.map(String),
    env: { ...stringRecord(config['env']), ...stringRecord(platformConfig['env']) },
  }
}

function defaultCommand(type: unknown, entry: unknown): JsonRecord {
  const file = `\${__dirname}/${requireString(entry, 'server.entry_point')}`
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
      throw invalidBundle(
        `has a server of the type ${oneLine(inWords(type))}; known are node, python, binary and uv`,
      )
  }
}

function readNeed(id: string, item: JsonRecord): Omit<NeededValue, 'secret'> {
  const { type, title, description, required, multiple, min, max } = item
  const kind = Object.hasOwn(kinds, inWords(type)) ? kinds[inWords(type)] : undefined
  if (kind === undefined)
    throw invalidBundle(`asks for "${oneLine(id)}" of the unknown type ${oneLine(inWords(type))}`)
  const defaultValue = item['default']
  const firstDefault = Array.isArray(defaultValue) ? defaultValue[0] : defaultValue
  const descriptions = [title, description].filter((text) => typeof text === 'string')
  return {
    id,
    kind,
    required: required === true,
    ...(descriptions.length > 0 && { description: descriptions.join(': ') }),
    ...(multiple === true && { multiple: true }),
    ...(typeof min === 'number' && { min }),
    ...(typeof max === 'number' && { max }),
    ...(['string', 'number', 'boolean'].includes(typeof firstDefault) && { default: String(firstDefault) }),
  }
}

function stringRecord(value: unknown): Record<string, string> {
  if (value === undefined) return {}
  const all = Object.entries(requireObject(value, 'server.mcp_config.env'))
  return Object.fromEntries(all.map(([name, text]) => [name, requireString(text, `env.${name}`)]))
}

function requireObject(value: unknown, what: string): JsonRecord {
  if (isRecord(value)) return value
  throw invalidBundle(`has no object "${oneLine(what)}"`)
}

function requireString(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw invalidBundle(`has no string "${oneLine(what)}"`)
}
