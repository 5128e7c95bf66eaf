import type { ClientExtension } from '../../../client/extension.ts'
import { allPages, type ListBound, type Page } from '../../../client/lists.ts'
import type { CallOptions, Client } from '../../../client/types.ts'
import { limits } from '../../../core/limits.ts'
import { jsonBytes } from '../../../jsonrpc/bytes.ts'
import { McpError } from '../../../jsonrpc/error.ts'
import type { JsonObject } from '../../../jsonrpc/message.ts'
import { isObject } from '../../../jsonrpc/parse.ts'
import type { Resource } from '../../../protocol/definitions.ts'
import { entryFault, isSkill, type Skill } from '../entry.ts'
import { skillsExtension } from '../names.ts'
import { type LoadedSkill, type LoadOptions, load } from './loaded.ts'

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
  const bound: ListBound = { bytes: maxListBytes, pages: maxListPages, of: 'skillsClient' }
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
