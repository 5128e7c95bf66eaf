import { stringify } from 'yaml'
import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { CacheHints } from '../../protocol/definitions.ts'
import { canonical } from '../../request/encoding.ts'
import type { Exchange, Outcome, Peer } from '../../request/exchange.ts'
import type { Context } from '../../server/context.ts'
import { template } from '../../server/define.ts'
import type { ReadReply } from '../../server/definitions.ts'
import type { Extension, ExtensionMethod } from '../../server/extension.ts'
import { clipped } from '../../server/handler-context.ts'
import { page } from '../../server/handlers.ts'
import type { Server } from '../../server/server.ts'
import { missingScopesError } from '../../server/visibility.ts'
import { bytesOf, contentsOf } from './bytes.ts'
import { Catalogue } from './catalogue.ts'
import { manifestName, type SkillFrontmatter, skillLimits, skillsExtension } from './entry.ts'
import { parseFrontmatter, requireFrontmatter } from './frontmatter.ts'

/** How skills are listed, cached and guarded. All of it has defaults. */
export interface SkillsOptions {
  /** Whether directories can be listed. Default true. */
  directoryRead?: boolean
  /** How long and for whom entries and files stay fresh. Default 0 ms, private. */
  cache?: Partial<CacheHints>
  /** What a caller must have been allowed, all of it, to see and read the skills. Default: nothing. */
  scopes?: readonly string[]
  /** Skills on one page of `skills/list`. Default 50: the largest entries then still fit one message. */
  pageSize?: number
}

/** The skills of one server. */
export interface Skills extends Extension {
  /**
   * Replaces all skills and tells watchers that the list of resources changed. What clients hold of the old ones no
   * longer verifies, so that they have to look again.
   * @throws McpError 'INVALID' where skills are in each other's way; the old ones stay then
   */
  replace(skills: readonly SkillValue[]): void
}

const rowsOnPage = 1000
const uncached: CacheHints = { ttlMs: 0, cacheScope: 'private' }

/**
 * Serves Agent Skills: folders of instructions and files for a model, under `skill://`. Give it to `defineServer`.
 * @throws McpError 'INVALID' where skills are in each other's way
 * @see https://github.com/modelcontextprotocol/ext-skills
 */
export function skills(values: readonly SkillValue[], options: SkillsOptions = {}): Skills {
  const { directoryRead = true, cache = {}, scopes = [], pageSize = 50 } = options
  if (!Number.isSafeInteger(pageSize) || pageSize < 1) {
    throw new McpError('INVALID', `The skills option "pageSize" is no whole number from 1: ${pageSize}`)
  }
  const hints: CacheHints = { ...uncached, ...cache, ...(scopes.length > 0 ? { cacheScope: 'private' } : {}) }
  let catalogue = new Catalogue(values)
  let server: Server | undefined
  const methods: Record<string, ExtensionMethod> = {
    'skills/list': method(scopes, (exchange) => listOf(catalogue, exchange, pageSize, hints)),
    'skills/get': method(scopes, async (exchange) => {
      const uri = uriIn(exchange)
      const found = catalogue.find(uri)
      if (found === undefined) throw invalidParams(`No skill is served at ${clipped(uri)}`)
      return { type: 'complete', result: { skill: await catalogue.entry(found), ...hints } }
    }),
  }
  if (directoryRead) {
    methods['resources/directory/read'] = method(scopes, (exchange) => {
      const uri = uriIn(exchange)
      const children = catalogue.directory(uri)
      if (children === undefined) throw invalidParams(`${clipped(uri)} is not a directory resource`)
      return page('resources', children, exchange, rowsOnPage, hints)
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
          list: () => catalogue.rows,
          read: (_variables, ctx, uri) => read(catalogue, uri, ctx),
        }),
      },
    },
    attach(to) {
      if (server !== undefined) {
        throw new McpError('INVALID', 'These skills belong to a server already: make them anew for another')
      }
      server = to
    },
    replace(next) {
      catalogue = new Catalogue(next)
      server?.changes.publish({ type: 'resources' })
    },
  }
}

/** Clients call these once the server declared the extension; nothing says that they declare it too. */
function method(
  scopes: readonly string[],
  handle: (exchange: Exchange) => Promise<Outcome> | Outcome,
): ExtensionMethod {
  return {
    open: true,
    handle(exchange) {
      requireScopes(scopes, exchange.peer)
      return handle(exchange)
    },
  }
}

async function listOf(
  catalogue: Catalogue,
  exchange: Exchange,
  pageSize: number,
  hints: CacheHints,
): Promise<Outcome> {
  const outcome = page('skills', catalogue.listed, exchange, pageSize, hints)
  if (outcome.type !== 'complete') return outcome
  const from = outcome.result['skills']
  const shown = catalogue.listed.filter((one) => Array.isArray(from) && from.includes(one))
  const entries = await Promise.all(shown.map((one) => catalogue.entry(one)))
  return { type: 'complete', result: { ...outcome.result, skills: entries } }
}

async function read(catalogue: Catalogue, uri: string, ctx: Context): Promise<ReadReply | undefined> {
  const content = catalogue.file(uri)
  if (content === undefined) return undefined
  if (typeof content !== 'function') return { contents: [contentsOf(uri, content)] }
  return { contents: [contentsOf(uri, bytesOf(await content(ctx)))], cache: uncached }
}

function requireScopes(scopes: readonly string[], peer: Peer): void {
  const refused = missingScopesError(scopes, peer)
  if (refused !== undefined) throw refused
}

function uriIn({ params: { uri }, limits }: Exchange): string {
  if (typeof uri === 'string' && uri.length <= limits.uriChars) return uri
  throw invalidParams(`"uri" must be a string of at most ${limits.uriChars} characters`)
}

function invalidParams(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}

interface Placed {
  /** Where the skill stands: `acme/billing` for `skill://acme/billing/<name>`. Default: at the top. */
  under?: string
  /** Whether `skills/list` shows it. Default true; otherwise it is found by its URI alone. */
  listed?: boolean
}

/** A skill whose text and files are known. */
export interface SkillDefinition extends Placed {
  /** The whole `SKILL.md`, frontmatter included; its `name` becomes the last segment of the skill's path. */
  text: string
  /** Its other files, by their path with slashes. */
  files?: Readonly<Record<string, string | Uint8Array>>
}

/** Makes the content of a file when it is read. */
export type MakeContent = (ctx: Context) => string | Uint8Array | Promise<string | Uint8Array>

/** A skill whose text and files are made whenever they are read. */
export interface GeneratedSkillDefinition extends Placed {
  frontmatter: SkillFrontmatter
  /** Makes what stands below the frontmatter in `SKILL.md`. */
  body(ctx: Context): string | Promise<string>
  /** Makes the other files, by their path with slashes. */
  files?: Readonly<Record<string, MakeContent>>
}

/** A skill ready to be served. Make one with `skill` or `generatedSkill`. */
export interface SkillValue {
  readonly kind: 'skill'
  /** Path of its directory, its name last. */
  readonly path: string
  readonly frontmatter: SkillFrontmatter
  readonly listed: boolean
  /** Its files by their path: bytes, or how to make them. `SKILL.md` comes first. */
  readonly files: ReadonlyMap<string, Uint8Array | MakeContent>
}

const maxPathChars = 1024
const prefix = /^[A-Za-z0-9._~-]+$/

/**
 * Defines a skill whose files are known: its entry promises what each of them is.
 * @throws McpError 'INVALID' for one that breaks the rules, naming it
 */
export function skill(definition: SkillDefinition): SkillValue {
  const { text, files = {}, under, listed = true } = definition
  const frontmatter = attempt(nameIn(text), () => requireFrontmatter(parseFrontmatter(text)))
  const all = new Map([
    [manifestName, bytesOf(text)],
    ...Object.entries(files).map(([path, content]): [string, Uint8Array] => [path, bytesOf(content)]),
  ])
  return attempt(frontmatter.name, () => {
    requireFiles(all, files)
    return { kind: 'skill', path: pathOf(under, frontmatter.name), frontmatter, listed, files: all }
  })
}

/**
 * Defines a skill whose files are made when they are read: nothing is promised about their content, and clients may
 * decline to load it.
 * @throws McpError 'INVALID' for one that breaks the rules, naming it
 */
export function generatedSkill(definition: GeneratedSkillDefinition): SkillValue {
  const { files = {}, under, listed = true } = definition
  const { name } = definition.frontmatter
  return attempt(name, () => {
    const frontmatter = requireFrontmatter({ ...definition.frontmatter })
    const head = headOf(frontmatter)
    const all = new Map<string, MakeContent>([
      [manifestName, async (ctx) => `${head}\n${await definition.body(ctx)}`],
      ...Object.entries(files),
    ])
    requireFiles(all, files)
    return { kind: 'skill', path: pathOf(under, name), frontmatter, listed, files: all }
  })
}

/** Frontmatter as text that reads back as the same. */
function headOf(frontmatter: SkillFrontmatter): string {
  const head = `---\n${stringify(frontmatter)}---\n`
  if (canonical(parseFrontmatter(head)) !== canonical(frontmatter)) {
    throw new McpError('INVALID', 'its frontmatter holds a value that YAML does not give back')
  }
  return head
}

function pathOf(under: string | undefined, name: string): string {
  if (under === undefined) return name
  const wrong = under.split('/').find((segment) => !prefix.test(segment) || isDots(segment))
  if (wrong !== undefined || under.length > maxPathChars) {
    throw new McpError(
      'INVALID',
      `"under" must be segments of A-Z a-z 0-9 . _ ~ - and slashes, not "${under}"`,
    )
  }
  return `${under}/${name}`
}

function requireFiles(all: ReadonlyMap<string, Uint8Array | MakeContent>, given: object): void {
  if (Object.hasOwn(given, manifestName)) {
    throw new McpError('INVALID', `its files name ${manifestName}, which stands for itself`)
  }
  for (const path of all.keys()) {
    if (!isFilePath(path)) throw new McpError('INVALID', `"${path}" is no path of a file inside of it`)
    const parents = path.split('/').slice(0, -1)
    const clash = parents.map((_, i) => parents.slice(0, i + 1).join('/')).find((folder) => all.has(folder))
    if (clash !== undefined) throw new McpError('INVALID', `"${clash}" is both a file and a folder`)
  }
  const bytes = [...all.values()].reduce(
    (sum, file) => sum + (typeof file === 'function' ? 0 : file.length),
    0,
  )
  if (all.size > skillLimits.files || bytes > skillLimits.bytes) {
    throw new McpError(
      'INVALID',
      `it has ${all.size} files of ${bytes} bytes; hosts take ${skillLimits.files} of ${skillLimits.bytes}`,
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

function attempt<T>(name: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw new McpError('INVALID', `Skill "${name}": ${error.message}`, { cause: error })
  }
}

/** What to call a skill whose frontmatter may not be readable. */
function nameIn(text: string): string {
  return /^name:[ \t]*(\S{1,64})/m.exec(text.slice(0, 4096))?.[1] ?? '?'
}
