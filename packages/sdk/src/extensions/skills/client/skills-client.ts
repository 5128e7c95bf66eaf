import type { ClientExtension } from '../../../client/extension.ts'
import { allPages, type ListBound, type Page } from '../../../client/lists.ts'
import type { CallOptions, Client, ReadOptions } from '../../../client/types.ts'
import { fromBase64, jsonBytes } from '../../../jsonrpc/bytes.ts'
import { McpError } from '../../../jsonrpc/error.ts'
import type { JsonObject } from '../../../jsonrpc/message.ts'
import { isObject } from '../../../jsonrpc/parse.ts'
import type { ResourceContents } from '../../../protocol/content.ts'
import type { Resource } from '../../../protocol/definitions.ts'
import { canonical } from '../../../request/encoding.ts'
import { limits } from '../../../request/limits.ts'
import {
  bytesOf,
  digestOf,
  entryProblem,
  isSkill,
  isWithin,
  manifestName,
  parseFrontmatter,
  rootOf,
  type Skill,
  type SkillResource,
  skillLimits,
  skillsExtension,
  textOf,
} from '../entry.ts'

/** The bytes of a resource; undefined if there are more than `size`. */
function contentAt(content: ResourceContents, size: number): Uint8Array | undefined {
  if ('text' in content && typeof content.text === 'string') {
    return content.text.length > size ? undefined : bytesOf(content.text)
  }
  if ('blob' in content && typeof content.blob === 'string') {
    if (content.blob.length > 4 * Math.ceil(size / 3)) return undefined
    try {
      return fromBase64(content.blob)
    } catch (cause) {
      throw new McpError('PROTOCOL', `The content of ${content.uri} is not base64`, { cause })
    }
  }
  throw new McpError('PROTOCOL', `The content of ${content.uri} is neither text nor bytes`)
}

/** A verified file of a skill. */
export interface SkillFile {
  /** URI of the file. */
  readonly uri: string
  /** Media type as sent by the server; undefined if it sent none. */
  readonly mimeType: string | undefined
  /** Content of the file. */
  readonly bytes: Uint8Array
  /** The bytes as text; undefined if they are not UTF-8. */
  readonly text: string | undefined
}

/** Options of `load`. */
export interface LoadOptions extends CallOptions {
  /** Accepts a skill with `dynamic` files, which cannot be compared with what the user approved. Default false. */
  acceptUnverifiableContent?: boolean
}

/** A loaded skill. Files are verified against its entry at load time. */
export interface LoadedSkill {
  /** The entry that the files are verified against. */
  readonly skill: Skill
  /** Its `SKILL.md`. Untrusted text from the server: show its origin to the model. */
  readonly text: string
  /**
   * Reads one of its files.
   * @param reference its URI, or its path relative to the skill's directory
   * @throws McpError 'UNVERIFIED' for a file that is not listed, or does not match the entry
   */
  read(reference: string, options?: CallOptions): Promise<SkillFile>
}

async function load(client: Client, entry: Skill, options: LoadOptions): Promise<LoadedSkill> {
  const { acceptUnverifiableContent = false, ...rest } = options
  const skill = structuredClone(entry)
  requireLimits(skill)
  if (skill.resources === 'dynamic' && !acceptUnverifiableContent) {
    throw new McpError(
      'UNVERIFIED',
      `The content of ${skill.uri} is generated, so it cannot be verified. Set "acceptUnverifiableContent" to accept it.`,
      { details: { uri: skill.uri, check: 'dynamic' } },
    )
  }
  const { resources } = skill
  const root = rootOf(skill.uri) ?? skill.uri
  let generatedBytes = 0

  const listed = (uri: string): SkillResource | undefined =>
    resources === 'dynamic' ? undefined : resources.find((one) => one.uri === uri)
  /** The URI of a file by its path relative to the skill; URIs are returned as they are. */
  const resolve = (reference: string): string => {
    if (reference.startsWith(`${root}/`)) return reference
    const path = reference.startsWith('./') ? reference.slice(2) : reference
    const plain = `${root}/${path}`
    return listed(plain) === undefined
      ? `${root}/${path.split('/').map(encodeURIComponent).join('/')}`
      : plain
  }
  const fetchFile = async (uri: string, size: number, more: ReadOptions): Promise<SkillFile> => {
    const { contents } = await client.read(uri, more)
    const content = contents.find((one) => one.uri === uri)
    if (content === undefined) throw new McpError('PROTOCOL', `The server returned no content for ${uri}`)
    const bytes = contentAt(content, size)
    if (bytes === undefined)
      throw unverified(uri, 'size', `it is larger than ${size} bytes, the size in its entry`)
    return { uri, mimeType: content.mimeType, bytes, text: textOf(bytes) }
  }
  const fetchGenerated = async (uri: string, more: CallOptions): Promise<SkillFile> => {
    if (!isWithin(uri, root)) throw unverified(uri, 'unlisted', 'it is outside of the skill')
    const file = await fetchFile(uri, skillLimits.bytes, more)
    generatedBytes += file.bytes.length
    if (generatedBytes > skillLimits.bytes) throw tooLarge(skill.uri, `${generatedBytes} bytes were read`)
    return file
  }
  const read = async (uri: string, more: CallOptions): Promise<SkillFile> => {
    if (resources === 'dynamic') return fetchGenerated(uri, more)
    const expected = listed(uri)
    if (expected === undefined) {
      throw unverified(
        uri,
        'unlisted',
        'the entry of the skill does not list it. Fetch the entry again to see changes.',
      )
    }
    const first = await fetchFile(uri, expected.size, more)
    if ((await problemOf(first.bytes, expected)) === undefined) return first
    // A cached file may be older than the entry.
    const refetched = await fetchFile(uri, expected.size, { ...more, cache: 'refresh' })
    const problem = await problemOf(refetched.bytes, expected)
    if (problem === undefined) return refetched
    throw problem
  }

  const { uri, text } = await read(skill.uri, rest)
  if (text === undefined) throw unverified(uri, 'frontmatter', `${manifestName} is not text`)
  requireSameFrontmatter(skill, text)
  return { skill, text, read: (reference, more = {}) => read(resolve(reference), more) }
}

/** Why a file does not match its entry; undefined if it does. */
async function problemOf(
  bytes: Uint8Array,
  { uri, digest, size }: SkillResource,
): Promise<McpError | undefined> {
  if (bytes.length !== size) {
    return unverified(uri, 'size', `it has ${bytes.length} bytes, but its entry says ${size}`)
  }
  const actual = await digestOf(bytes)
  return actual === digest
    ? undefined
    : unverified(uri, 'digest', `its digest is ${actual}, but its entry says ${digest}`)
}

function requireSameFrontmatter(skill: Skill, text: string): void {
  let actual: string
  try {
    actual = canonical(parseFrontmatter(text))
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw unverified(skill.uri, 'frontmatter', error.message)
  }
  if (actual === canonical(skill.frontmatter)) return
  throw unverified(skill.uri, 'frontmatter', 'its frontmatter differs from its entry')
}

function requireLimits({ uri, resources }: Skill): void {
  if (resources === 'dynamic') return
  const bytes = resources.reduce((sum, { size }) => sum + size, 0)
  if (resources.length <= skillLimits.files && bytes <= skillLimits.bytes) return
  throw tooLarge(uri, `it has ${resources.length} files of ${bytes} bytes`)
}

function tooLarge(uri: string, what: string): McpError {
  const { files, bytes } = skillLimits
  return new McpError(
    'LIMIT',
    `The skill ${uri} is too large: ${what}; the limit is ${files} files of ${bytes} bytes`,
  )
}

function unverified(uri: string, check: string, reason: string): McpError {
  return new McpError('UNVERIFIED', `${uri} is not used: ${reason}`, { details: { uri, check } })
}

/** Options of the client side of skills. */
export interface SkillsClientOptions {
  /** Called for invalid entries, which are left out of lists. */
  onInvalid?: (reason: string, entry: unknown) => void
  /** Maximum bytes of one list over all pages; more is an McpError 'LIMIT'. Default 16 MiB. */
  maxListBytes?: number
  /** Maximum pages of one list; more is an McpError 'LIMIT'. Default 1000. */
  maxListPages?: number
}

/**
 * The client side of the skills extension. `load` reads a `SKILL.md`; further files are read on request. All of it is
 * untrusted text of a server: the host decides what to load, and asks the user where necessary. Every method rejects with
 * McpError 'CAPABILITY' if the server did not declare the extension.
 */
export interface SkillsClient extends ClientExtension {
  /** All listed skills. A server may have unlisted ones, accessible by URI. */
  list(client: Client, options?: CallOptions): Promise<Skill[]>
  /**
   * The current entry of a skill, by the URI of its `SKILL.md`.
   * @throws McpError 'PROTOCOL' for an invalid entry
   */
  get(client: Client, uri: string, options?: CallOptions): Promise<Skill>
  /**
   * Reads a skill's `SKILL.md` and verifies its digest, size and frontmatter.
   * @throws McpError 'UNVERIFIED' if it does not match the entry, or cannot be verified
   * @throws McpError 'LIMIT' for a skill larger than `skillLimits`
   */
  load(client: Client, skill: Skill, options?: LoadOptions): Promise<LoadedSkill>
  /** The direct children of a directory now; a loaded skill reads only files of its entry. */
  directory(client: Client, uri: string, options?: CallOptions): Promise<Resource[]>
}

/** Creates the client extension for the option `extensions` of `connect`. One serves any number of clients. */
export function skillsClient({
  onInvalid = () => {},
  maxListBytes = limits.listBytes,
  maxListPages = limits.pages,
}: SkillsClientOptions = {}): SkillsClient {
  const bound: ListBound = { bytes: maxListBytes, pages: maxListPages, optionsOf: 'skillsClient' }
  return {
    id: skillsExtension,
    list(client, options = {}) {
      return pages(client, 'skills/list', {}, options, bound, (result) =>
        entriesIn(result, 'skills').filter((entry) => isListed(entry, onInvalid)),
      )
    },
    async get(client, uri, options = {}) {
      requireSkills(client)
      const { skill } = await client.request('skills/get', { uri }, options)
      if (isSkill(skill) && skill.uri === uri) return skill
      const problem = entryProblem(skill) ?? 'it is the entry of another skill'
      throw new McpError('PROTOCOL', `The entry of the skill ${uri} is not valid: ${problem}`)
    },
    async load(client, skill, options = {}) {
      requireSkills(client)
      return load(client, skill, options)
    },
    directory(client, uri, options = {}) {
      return pages(client, 'resources/directory/read', { uri }, options, bound, (result) =>
        entriesIn(result, 'resources').filter(isResource),
      )
    },
  }
}

async function pages<T>(
  client: Client,
  method: string,
  params: JsonObject,
  options: CallOptions,
  bound: ListBound,
  entriesOf: (result: JsonObject) => T[],
): Promise<T[]> {
  const { directoryRead } = requireSkills(client)
  if (method === 'resources/directory/read' && directoryRead !== true) {
    throw new McpError('CAPABILITY', 'The server did not declare "directoryRead"')
  }
  const page = async (cursor: string | undefined): Promise<Page<T>> => {
    const result = await client.request(
      method,
      cursor === undefined ? params : { ...params, cursor },
      options,
    )
    const { nextCursor } = result
    return { entries: entriesOf(result), nextCursor, cached: false, bytes: jsonBytes(result) }
  }
  return allPages(method, page, () => {}, bound)
}

function requireSkills({ server }: Client): JsonObject {
  const settings = server.capabilities.extensions?.[skillsExtension]
  if (isObject(settings)) return settings
  throw new McpError('CAPABILITY', 'The server did not declare the skills extension')
}

function entriesIn(result: JsonObject, member: string): unknown[] {
  const entries = result[member]
  if (Array.isArray(entries)) return entries
  throw new McpError('PROTOCOL', `The server returned no list of "${member}"`)
}

function isListed(entry: unknown, onInvalid: (reason: string, entry: unknown) => void): entry is Skill {
  if (isSkill(entry)) return true
  onInvalid(entryProblem(entry) ?? '', entry)
  return false
}

function isResource(value: unknown): value is Resource {
  return isObject(value) && typeof value['uri'] === 'string' && typeof value['name'] === 'string'
}
