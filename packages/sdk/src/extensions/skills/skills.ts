import { stringify } from 'yaml'
import { clipped, invalid, invalidParams } from '../../jsonrpc/error.ts'
import type { CacheHints } from '../../protocol/definitions.ts'
import { canonical } from '../../request/encoding.ts'
import type { Exchange, Outcome } from '../../request/exchange.ts'
import type { Context } from '../../server/context.ts'
import { template } from '../../server/define.ts'
import { prefixErrors } from '../../server/definition-metadata.ts'
import type { ReadReply } from '../../server/definitions.ts'
import type { Extension, ExtensionMethod } from '../../server/extension.ts'
import { page } from '../../server/handlers.ts'
import type { Server } from '../../server/server.ts'
import { missingScopesError } from '../../server/visibility.ts'
import {
  bytesOf,
  contentsOf,
  manifestName,
  parseFrontmatter,
  requireFrontmatter,
  type SkillFrontmatter,
  skillLimits,
  skillsExtension,
} from './entry.ts'
import { SkillIndex } from './skill-index.ts'

/** How skills are listed, cached and protected. */
export interface SkillsOptions {
  /** Whether clients can list directories. Default true. */
  directoryRead?: boolean
  /** Cache hints of entries and files. Default 0 ms, private. */
  cache?: Partial<CacheHints>
  /** Scopes required to list and read the skills. Default: none. */
  scopes?: readonly string[]
  /** Skills per page of `skills/list`. Default 50: even the largest entries fit into one message. */
  pageSize?: number
}

/** The skills of one server. */
export interface Skills extends Extension {
  /**
   * Replaces all skills and notifies subscribers of the resource list. Files loaded by old entries no longer verify, so
   * clients must fetch the entries again.
   * @throws McpError 'INVALID' for conflicting skills; the old ones are kept
   */
  replace(skills: readonly SkillValue[]): void
}

const directoryPageSize = 1000
const uncached: CacheHints = { ttlMs: 0, cacheScope: 'private' }

/**
 * Serves Agent Skills: folders of instructions and files for a model, under `skill://`. Pass it to `defineServer`.
 * @throws McpError 'INVALID' for conflicting skills
 * @see https://github.com/modelcontextprotocol/ext-skills
 */
export function skills(values: readonly SkillValue[], options: SkillsOptions = {}): Skills {
  const { directoryRead = true, cache = {}, scopes = [], pageSize = 50 } = options
  if (!Number.isSafeInteger(pageSize) || pageSize < 1) {
    throw invalid(`The skills option "pageSize" must be a positive integer, got ${pageSize}`)
  }
  const hints: CacheHints = { ...uncached, ...cache, ...(scopes.length > 0 ? { cacheScope: 'private' } : {}) }
  let index = new SkillIndex(values)
  let server: Server | undefined
  const methods: Record<string, ExtensionMethod> = {
    'skills/list': method(scopes, async (exchange) => {
      const outcome = page('skills', index.listed, exchange, pageSize, hints)
      if (outcome.type !== 'complete') return outcome
      const from = outcome.result['skills']
      const shown = index.listed.filter((one) => Array.isArray(from) && from.includes(one))
      const entries = await Promise.all(shown.map((one) => index.entry(one)))
      return { type: 'complete', result: { ...outcome.result, skills: entries } }
    }),
    'skills/get': method(scopes, async (exchange) => {
      const uri = requireUri(exchange)
      const skill = index.find(uri)
      if (skill === undefined) throw invalidParams(`Unknown skill: ${clipped(uri)}`)
      return { type: 'complete', result: { skill: await index.entry(skill), ...hints } }
    }),
  }
  if (directoryRead) {
    methods['resources/directory/read'] = method(scopes, (exchange) => {
      const uri = requireUri(exchange)
      const children = index.directory(uri)
      if (children === undefined) throw invalidParams(`${clipped(uri)} is not a directory resource`)
      return page('resources', children, exchange, directoryPageSize, hints)
    })
  }
  return {
    id: skillsExtension,
    settings: directoryRead ? { directoryRead } : {},
    methods,
    definitions: {
      resources: {
        'skill-files': template({
          uriTemplate: 'skill://{+path}',
          description: 'The files of the skills',
          cache: hints,
          scopes,
          list: () => index.resources,
          read: (_variables, ctx, uri) => read(index, uri, ctx),
        }),
      },
    },
    attach(to) {
      if (server !== undefined) {
        throw invalid('skills() is already attached to a server: create one for each server')
      }
      server = to
    },
    replace(next) {
      index = new SkillIndex(next)
      server?.changes.publish({ type: 'resources' })
    },
  }
}

/** Callable once the server declared the extension; clients need not declare it. */
function method(
  scopes: readonly string[],
  handle: (exchange: Exchange) => Promise<Outcome> | Outcome,
): ExtensionMethod {
  return {
    open: true,
    handle(exchange) {
      const missingScope = missingScopesError(scopes, exchange.peer)
      if (missingScope !== undefined) throw missingScope
      return handle(exchange)
    },
  }
}

async function read(index: SkillIndex, uri: string, ctx: Context): Promise<ReadReply | undefined> {
  const content = index.file(uri)
  if (content === undefined) return undefined
  if (typeof content !== 'function') return { contents: [contentsOf(uri, content)] }
  return { contents: [contentsOf(uri, bytesOf(await content(ctx)))], cache: uncached }
}

function requireUri({ params: { uri }, limits }: Exchange): string {
  if (typeof uri === 'string' && uri.length <= limits.uriChars) return uri
  throw invalidParams(`"uri" must be a string of at most ${limits.uriChars} characters`)
}

interface SkillLocation {
  /** Parent path: `acme/billing` for `skill://acme/billing/<name>`. Default: none. */
  under?: string
  /** Whether `skills/list` has it; if not, it is accessible by its URI. Default true. */
  listed?: boolean
}

/** A skill with static files. */
export interface SkillDefinition extends SkillLocation {
  /** The whole `SKILL.md`, frontmatter included; its `name` becomes the last segment of the skill's path. */
  text: string
  /** Its other files, by relative path. Default: none. */
  files?: Readonly<Record<string, string | Uint8Array>>
}

/** Creates the content of a file when it is read. */
export type MakeContent = (ctx: Context) => string | Uint8Array | Promise<string | Uint8Array>

/** A skill whose files are generated when they are read. */
export interface GeneratedSkillDefinition extends SkillLocation {
  /** The frontmatter; its `name` becomes the last segment of the skill's path. */
  frontmatter: SkillFrontmatter
  /** Creates the part of `SKILL.md` after the frontmatter. */
  body(ctx: Context): string | Promise<string>
  /** Functions that create the other files, by relative path. Default: none. */
  files?: Readonly<Record<string, MakeContent>>
}

/** A defined skill. Create it with `skill` or `generatedSkill`. */
export interface SkillValue {
  readonly kind: 'skill'
  /** Path of its directory, ending with its name. */
  readonly path: string
  /** The frontmatter of its `SKILL.md`. */
  readonly frontmatter: SkillFrontmatter
  /** Whether `skills/list` has it. */
  readonly listed: boolean
  /** Its files by relative path: bytes, or their generator. `SKILL.md` is first. */
  readonly files: ReadonlyMap<string, Uint8Array | MakeContent>
}

const maxPathChars = 1024
const prefix = /^[A-Za-z0-9._~-]+$/

/**
 * Defines a skill with static files; its entry has the digest of each.
 * @throws McpError 'INVALID' for an invalid skill
 */
export function skill(definition: SkillDefinition): SkillValue {
  const { text, files = {}, under, listed = true } = definition
  const frontmatter = prefixErrors(`Skill "${guessName(text)}"`, () =>
    requireFrontmatter(parseFrontmatter(text)),
  )
  const all = new Map([
    [manifestName, bytesOf(text)],
    ...Object.entries(files).map(([path, content]): [string, Uint8Array] => [path, bytesOf(content)]),
  ])
  return prefixErrors(`Skill "${frontmatter.name}"`, () => {
    requireFiles(all, files)
    return { kind: 'skill', path: pathOf(under, frontmatter.name), frontmatter, listed, files: all }
  })
}

/**
 * Defines a skill whose files are generated when they are read. They cannot be verified, so clients may refuse to load it.
 * @throws McpError 'INVALID' for an invalid skill
 */
export function generatedSkill(definition: GeneratedSkillDefinition): SkillValue {
  const { files = {}, under, listed = true } = definition
  const { name } = definition.frontmatter
  return prefixErrors(`Skill "${name}"`, () => {
    const frontmatter = requireFrontmatter({ ...definition.frontmatter })
    const head = serializeFrontmatter(frontmatter)
    const all = new Map<string, MakeContent>([
      [manifestName, async (ctx) => `${head}\n${await definition.body(ctx)}`],
      ...Object.entries(files),
    ])
    requireFiles(all, files)
    return { kind: 'skill', path: pathOf(under, name), frontmatter, listed, files: all }
  })
}

function serializeFrontmatter(frontmatter: SkillFrontmatter): string {
  const head = `---\n${stringify(frontmatter)}---\n`
  if (canonical(parseFrontmatter(head)) !== canonical(frontmatter)) {
    throw invalid('its frontmatter has a value that YAML cannot represent')
  }
  return head
}

function pathOf(under: string | undefined, name: string): string {
  if (under === undefined) return name
  const wrong = under.split('/').find((segment) => !prefix.test(segment) || isDots(segment))
  if (wrong !== undefined || under.length > maxPathChars) {
    throw invalid(`"under" must be segments of A-Z a-z 0-9 . _ ~ - and slashes, not "${under}"`)
  }
  return `${under}/${name}`
}

function requireFiles(all: ReadonlyMap<string, Uint8Array | MakeContent>, given: object): void {
  if (Object.hasOwn(given, manifestName)) {
    throw invalid(`its files contain ${manifestName}, which is generated from the definition`)
  }
  for (const path of all.keys()) {
    if (!isFilePath(path)) throw invalid(`"${path}" is not a relative file path`)
    const parents = path.split('/').slice(0, -1)
    const clash = parents.map((_, i) => parents.slice(0, i + 1).join('/')).find((folder) => all.has(folder))
    if (clash !== undefined) throw invalid(`"${clash}" is both a file and a folder`)
  }
  const bytes = [...all.values()].reduce(
    (sum, file) => sum + (typeof file === 'function' ? 0 : file.length),
    0,
  )
  if (all.size > skillLimits.files || bytes > skillLimits.bytes) {
    throw invalid(
      `it has ${all.size} files of ${bytes} bytes; the limit is ${skillLimits.files} files of ${skillLimits.bytes} bytes`,
    )
  }
}

function isFilePath(path: string): boolean {
  return (
    path.length <= maxPathChars &&
    path.isWellFormed() &&
    path.split('/').every((segment) => segment !== '' && !isDots(segment) && !/[\\\p{Cc}]/u.test(segment))
  )
}

function isDots(segment: string): boolean {
  return segment === '.' || segment === '..'
}

/** The name of a skill whose frontmatter may be invalid, for error messages. */
function guessName(text: string): string {
  return /^name:[ \t]*(\S{1,64})/m.exec(text.slice(0, 4096))?.[1] ?? '?'
}
