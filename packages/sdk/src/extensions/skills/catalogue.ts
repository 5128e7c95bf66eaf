import { McpError } from '../../jsonrpc/error.ts'
import type { Resource } from '../../protocol/definitions.ts'
import { digestOf, mimeTypeOf } from './bytes.ts'
import { manifestName, type Skill, type SkillResource, skillLimits } from './entry.ts'
import type { MakeContent, SkillValue } from './skills.ts'

const directoryType = 'inode/directory'

type Content = Uint8Array | MakeContent

/** The skills of one server: their entries, files and directories. Everything is found by its whole URI. */
export class Catalogue {
  readonly #skills: ReadonlyMap<string, SkillValue>
  readonly #files = new Map<string, Content>()
  readonly #directories = new Map<string, Map<string, Resource>>()
  readonly #digests = new Map<string, Promise<string>>()
  /** The skills `skills/list` shows. */
  readonly listed: readonly SkillValue[]
  /** The rows of their `SKILL.md` in `resources/list`. */
  readonly rows: Resource[]

  /** @throws McpError 'INVALID' where skills are in each other's way */
  constructor(skills: readonly SkillValue[]) {
    this.#skills = new Map(skills.map((one) => [manifestUri(one), one]))
    this.listed = skills.filter(({ listed }) => listed)
    this.rows = this.listed.map(manifestRow)
    for (const one of skills) this.#addFiles(one)
    for (const one of skills) {
      requireWhole(one, this.#within(one))
      this.#addDirectories(one)
    }
  }

  find(uri: string): SkillValue | undefined {
    return this.#skills.get(uri)
  }

  file(uri: string): Content | undefined {
    return this.#files.get(uri)
  }

  /** The direct children of a directory; undefined where there is none. */
  directory(uri: string): readonly Resource[] | undefined {
    const children = this.#directories.get(uri)
    return children && [...children.values()]
  }

  /** The entry of a skill; a skill inside of it is a part of it. */
  async entry(value: SkillValue): Promise<Skill> {
    const uri = manifestUri(value)
    const { frontmatter } = value
    const resources: SkillResource[] = []
    for (const [place, content] of this.#within(value)) {
      if (typeof content === 'function') return { uri, frontmatter, resources: 'dynamic' }
      resources.push({ uri: place, digest: await this.#digest(place, content), size: content.length })
    }
    return { uri, frontmatter, resources }
  }

  #digest(uri: string, bytes: Uint8Array): Promise<string> {
    const digest = this.#digests.get(uri) ?? digestOf(bytes)
    this.#digests.set(uri, digest)
    return digest
  }

  #within({ path }: SkillValue): [string, Content][] {
    const root = `${uriOf(path.split('/'))}/`
    return [...this.#files].filter(([uri]) => uri.startsWith(root))
  }

  #addFiles({ path, files }: SkillValue): void {
    for (const [name, content] of files) {
      const uri = uriOf([...path.split('/'), ...name.split('/')])
      if (this.#files.has(uri)) throw invalid(path, `another skill has a file at ${uri} too`)
      this.#files.set(uri, content)
    }
  }

  #addDirectories(value: SkillValue): void {
    const lowest = this.#shownFrom(value)
    for (const [name, content] of value.files) {
      const place = [...value.path.split('/'), ...name.split('/')]
      this.#addChild(place, name === manifestName ? manifestRow(value) : fileRow(place, content))
      for (let depth = place.length - 1; depth > lowest; depth--) {
        const folder = place.slice(0, depth)
        this.#addChild(folder, { uri: uriOf(folder), name: folder.at(-1) ?? '', mimeType: directoryType })
      }
    }
  }

  /** How far up directories tell of a skill: all the way, or no further than the outermost skill it is a part of. */
  #shownFrom({ path, listed }: SkillValue): number {
    if (listed) return 1
    const around = [...this.#skills.values()].filter((one) => `${path}/`.startsWith(`${one.path}/`))
    return Math.min(...around.map((one) => one.path.split('/').length))
  }

  #addChild(place: readonly string[], row: Resource): void {
    const parent = uriOf(place.slice(0, -1))
    const children = this.#directories.get(parent) ?? new Map<string, Resource>()
    this.#directories.set(parent, children)
    const there = children.get(row.uri)
    if (there !== undefined && there.mimeType !== row.mimeType) {
      throw new McpError('INVALID', `Skills have both a file and a folder at ${row.uri}`)
    }
    children.set(row.uri, row)
  }
}

function requireWhole({ path }: SkillValue, files: readonly [string, Content][]): void {
  const known = files.flatMap(([, content]) => (typeof content === 'function' ? [] : [content.length]))
  if (known.length !== 0 && known.length !== files.length) {
    throw invalid(path, 'of a skill and one inside of it, either both must be generated or none')
  }
  const bytes = known.reduce((sum, size) => sum + size, 0)
  if (files.length > skillLimits.files || bytes > skillLimits.bytes) {
    throw invalid(
      path,
      `with what is inside of it, it has ${files.length} files of ${bytes} bytes; hosts take ${skillLimits.files} of ${skillLimits.bytes}`,
    )
  }
}

function uriOf(place: readonly string[]): string {
  return `skill://${place.map(encodeURIComponent).join('/')}`
}

function manifestUri({ path }: SkillValue): string {
  return uriOf([...path.split('/'), manifestName])
}

function manifestRow(value: SkillValue): Resource {
  const { name, description } = value.frontmatter
  const content = value.files.get(manifestName)
  return { uri: manifestUri(value), name, description, mimeType: 'text/markdown', ...sizeOf(content) }
}

function fileRow(place: readonly string[], content: Content): Resource {
  const name = place.at(-1) ?? ''
  const mimeType = mimeTypeOf(name)
  return {
    uri: uriOf(place),
    name,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...sizeOf(content),
  }
}

function sizeOf(content: Content | undefined): { size?: number } {
  return content === undefined || typeof content === 'function' ? {} : { size: content.length }
}

function invalid(path: string, why: string): McpError {
  return new McpError('INVALID', `Skill "${path}": ${why}`)
}
