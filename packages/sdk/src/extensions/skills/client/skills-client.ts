import type { ClientExtension } from '../../../client/extension.ts'
import { allPages, type ListBound, type Page } from '../../../client/lists.ts'
import type { CallOptions, Client, ReadOptions } from '../../../client/types.ts'
import { jsonBytes } from '../../../jsonrpc/bytes.ts'
import { McpError } from '../../../jsonrpc/error.ts'
import type { JsonObject } from '../../../jsonrpc/message.ts'
import { isObject } from '../../../jsonrpc/parse.ts'
import type { ResourceContents } from '../../../protocol/content.ts'
import type { Resource } from '../../../protocol/definitions.ts'
import { canonical } from '../../../request/encoding.ts'
import { limits } from '../../../request/limits.ts'
import { bytesOf, digestOf, textOf } from '../bytes.ts'
import {
  entryFault,
  isSkill,
  isWithin,
  manifestName,
  rootOf,
  type Skill,
  type SkillResource,
  skillLimits,
  skillsExtension,
} from '../entry.ts'
import { parseFrontmatter } from '../frontmatter.ts'

/** The bytes of what was read; undefined for more than were promised. */
export function contentAt(content: ResourceContents, size: number): Uint8Array | undefined {
  if ('text' in content && typeof content.text === 'string') {
    return content.text.length > size ? undefined : bytesOf(content.text)
  }
  if ('blob' in content && typeof content.blob === 'string') {
    return content.blob.length > 4 * Math.ceil(size / 3) ? undefined : fromBase64(content.uri, content.blob)
  }
  throw new McpError('PROTOCOL', `The content of ${content.uri} is neither text nor bytes`)
}

function fromBase64(uri: string, text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch (error) {
    throw new McpError('PROTOCOL', `The content of ${uri} is not base64`, { cause: error })
  }
}

/** A file of a skill whose content is what the entry promised. */
export interface SkillFile {
  readonly uri: string
  readonly mimeType: string | undefined
  readonly bytes: Uint8Array
  /** The bytes as text; undefined where they are none. */
  readonly text: string | undefined
}

/** How one skill is loaded. */
export interface LoadOptions extends CallOptions {
  /**
   * Takes a skill whose files are `dynamic`, so that nobody can tell whether they are what a person approved. Default
   * false.
   */
  acceptUnverifiableContent?: boolean
}

/** A skill that is acted on. It holds its entry: files are read as they were promised when it was loaded, or not at all. */
export interface LoadedSkill {
  readonly skill: Skill
  /** Its whole `SKILL.md`. It comes from the server: text for a model to doubt, with its origin named. */
  readonly text: string
  /**
   * Reads one of its files, when it is needed.
   * @param reference its URI, or its path from the directory of the skill
   * @throws McpError 'UNVERIFIED' for a file that is not listed, or has other content than the entry promised
   */
  read(reference: string, options?: CallOptions): Promise<SkillFile>
}

/** Reads a skill's `SKILL.md` and nothing else of it. */
export async function load(client: Client, entry: Skill, options: LoadOptions): Promise<LoadedSkill> {
  const { acceptUnverifiableContent = false, ...rest } = options
  const skill = structuredClone(entry)
  requireLimits(skill)
  if (skill.resources === 'dynamic' && !acceptUnverifiableContent) {
    throw new McpError(
      'UNVERIFIED',
      `The content of ${skill.uri} is generated, so nothing can be verified. "acceptUnverifiableContent" takes it all the same.`,
      { details: { uri: skill.uri, check: 'dynamic' } },
    )
  }
  const reader = new Reader(client, skill)
  const { uri, text } = await reader.read(skill.uri, rest)
  if (text === undefined) throw unverified(uri, 'frontmatter', `${manifestName} is not text`)
  requireSameFrontmatter(skill, text)
  return { skill, text, read: (reference, more = {}) => reader.read(reader.resolve(reference), more) }
}

class Reader {
  readonly #client: Client
  readonly #skill: Skill
  readonly #root: string
  #bytes = 0

  constructor(client: Client, skill: Skill) {
    this.#client = client
    this.#skill = skill
    this.#root = rootOf(skill.uri) ?? skill.uri
  }

  /** The URI of a file by its path from the directory of the skill; a URI stays as it is. */
  resolve(reference: string): string {
    if (reference.startsWith(`${this.#root}/`)) return reference
    const path = reference.startsWith('./') ? reference.slice(2) : reference
    const plain = `${this.#root}/${path}`
    if (this.#listed(plain) !== undefined) return plain
    return `${this.#root}/${path.split('/').map(encodeURIComponent).join('/')}`
  }

  async read(uri: string, options: CallOptions): Promise<SkillFile> {
    const { resources } = this.#skill
    if (resources === 'dynamic') return this.#unverifiable(uri, options)
    const promised = this.#listed(uri)
    if (promised === undefined) {
      throw unverified(
        uri,
        'unlisted',
        'the entry of the skill does not list it. Get the entry anew to see changes.',
      )
    }
    const first = await this.#fetch(uri, promised.size, options)
    const fault = await faultOf(first.bytes, promised)
    if (fault === undefined) return first
    // What was kept from before a change is not what the entry speaks of.
    const fresh = await this.#fetch(uri, promised.size, { ...options, cache: 'refresh' })
    const again = await faultOf(fresh.bytes, promised)
    if (again === undefined) return fresh
    throw again
  }

  #listed(uri: string): SkillResource | undefined {
    const { resources } = this.#skill
    return resources === 'dynamic' ? undefined : resources.find((one) => one.uri === uri)
  }

  async #unverifiable(uri: string, options: CallOptions): Promise<SkillFile> {
    if (!isWithin(uri, this.#root)) throw unverified(uri, 'unlisted', 'it lies outside of the skill')
    const file = await this.#fetch(uri, skillLimits.bytes, options)
    this.#bytes += file.bytes.length
    if (this.#bytes > skillLimits.bytes) throw tooMuch(this.#skill.uri, `${this.#bytes} bytes were read`)
    return file
  }

  async #fetch(uri: string, size: number, options: ReadOptions): Promise<SkillFile> {
    const { contents } = await this.#client.read(uri, options)
    const content = contents.find((one) => one.uri === uri)
    if (content === undefined) throw new McpError('PROTOCOL', `The server gave no content for ${uri}`)
    const bytes = contentAt(content, size)
    if (bytes === undefined) throw unverified(uri, 'size', `it is larger than the promised ${size} bytes`)
    return { uri, mimeType: content.mimeType, bytes, text: textOf(bytes) }
  }
}

async function faultOf(
  bytes: Uint8Array,
  { uri, digest, size }: SkillResource,
): Promise<McpError | undefined> {
  if (bytes.length !== size) {
    return unverified(uri, 'size', `it has ${bytes.length} bytes instead of the promised ${size}`)
  }
  const found = await digestOf(bytes)
  return found === digest
    ? undefined
    : unverified(uri, 'digest', `its digest is ${found}, not the promised ${digest}`)
}

function requireSameFrontmatter(skill: Skill, text: string): void {
  let found: string
  try {
    found = canonical(parseFrontmatter(text))
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw unverified(skill.uri, 'frontmatter', error.message)
  }
  if (found === canonical(skill.frontmatter)) return
  throw unverified(skill.uri, 'frontmatter', 'its frontmatter is not the one its entry shows')
}

function requireLimits({ uri, resources }: Skill): void {
  if (resources === 'dynamic') return
  const bytes = resources.reduce((sum, { size }) => sum + size, 0)
  if (resources.length <= skillLimits.files && bytes <= skillLimits.bytes) return
  throw tooMuch(uri, `it has ${resources.length} files of ${bytes} bytes`)
}

function tooMuch(uri: string, what: string): McpError {
  const { files, bytes } = skillLimits
  return new McpError(
    'LIMIT',
    `The skill ${uri} is too large: ${what}; at most ${files} files of ${bytes} bytes are taken`,
  )
}

function unverified(uri: string, check: string, why: string): McpError {
  return new McpError('UNVERIFIED', `${uri} is not used: ${why}`, { details: { uri, check } })
}

/** What the client side of skills tells. */
export interface SkillsClientOptions {
  /** Hears of entries that were left out because they break the rules, and why. */
  onInvalid?: (why: string, entry: unknown) => void
  /** Bytes of one list, all its pages together, before it is given up with McpError 'LIMIT'. Default 16 MiB. */
  maxListBytes?: number
  /** Pages of one list before it is given up with McpError 'LIMIT'. Default 1000. */
  maxListPages?: number
}

/**
 * Speaks the skills extension. Nothing is read ahead: `load` reads a `SKILL.md`, and each further file is read when it is
 * asked for. All of it is untrusted text of a server; whether to load it, and with what a person's leave, is the host's.
 * Every method rejects with McpError 'CAPABILITY' for a server that did not declare what it needs.
 */
export interface SkillsClient extends ClientExtension {
  /** The skills a server lists, all pages. There may be more, to be had by their URI. */
  list(client: Client, options?: CallOptions): Promise<Skill[]>
  /**
   * The current entry of one skill, by the URI of its `SKILL.md`.
   * @throws McpError 'PROTOCOL' for an entry that breaks the rules
   */
  get(client: Client, uri: string, options?: CallOptions): Promise<Skill>
  /**
   * Reads a skill's `SKILL.md`, and only that, and holds it to the entry: digest, size and frontmatter.
   * @throws McpError 'UNVERIFIED' when it is something else, or cannot be verified
   * @throws McpError 'LIMIT' for a skill larger than hosts have to take
   */
  load(client: Client, skill: Skill, options?: LoadOptions): Promise<LoadedSkill>
  /** The direct children of a directory, as they are now; a loaded skill reads none it does not list. */
  directory(client: Client, uri: string, options?: CallOptions): Promise<Resource[]>
}

/** Makes the client's side of skills, for the option `extensions` of `connect`. One serves any number of clients. */
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
      const fault = entryFault(skill) ?? 'it is of another one'
      throw new McpError('PROTOCOL', `The entry of the skill ${uri} is not valid: ${fault}`)
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
    throw new McpError('CAPABILITY', 'The server did not declare that its directories can be read')
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

/** What the server declared about skills. */
function requireSkills({ server }: Client): JsonObject {
  const settings = server.capabilities.extensions?.[skillsExtension]
  if (isObject(settings)) return settings
  throw new McpError('CAPABILITY', 'The server did not declare that it serves skills')
}

function entriesIn(result: JsonObject, member: string): unknown[] {
  const entries = result[member]
  if (Array.isArray(entries)) return entries
  throw new McpError('PROTOCOL', `The server gave no list of "${member}"`)
}

function isListed(entry: unknown, onInvalid: (why: string, entry: unknown) => void): entry is Skill {
  if (isSkill(entry)) return true
  onInvalid(entryFault(entry) ?? '', entry)
  return false
}

function isResource(value: unknown): value is Resource {
  return isObject(value) && typeof value['uri'] === 'string' && typeof value['name'] === 'string'
}
