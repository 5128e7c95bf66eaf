import type { CallOptions, Client, ReadOptions } from '../../../client/types.ts'
import { canonical } from '../../../core/canonical.ts'
import { McpError } from '../../../jsonrpc/error.ts'
import { digestOf, textOf } from '../bytes.ts'
import { isWithin, rootOf, type Skill, type SkillResource } from '../entry.ts'
import { parseFrontmatter } from '../frontmatter.ts'
import { manifestName, skillLimits } from '../names.ts'
import { contentAt } from './content.ts'

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
