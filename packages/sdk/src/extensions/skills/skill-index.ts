import { McpError } from '../../jsonrpc/error.ts'
import type { Resource } from '../../protocol/definitions.ts'
import { digestOf, manifestName, mimeTypeOf, type Skill, type SkillResource, skillLimits } from './entry.ts'
import type { MakeContent, SkillValue } from './skills.ts'

const directoryType = 'inode/directory'

type Content = Uint8Array | MakeContent

/** The skills of one server: entries, files and directories by URI. */
export class SkillIndex {
  readonly #skills: ReadonlyMap<string, SkillValue>
  readonly #files = new Map<string, Content>()
  readonly #directories = new Map<string, Map<string, Resource>>()
  readonly #digests = new Map<string, Promise<string>>()
  /** The skills in `skills/list`. */
  readonly listed: readonly SkillValue[]
  /** Their `SKILL.md` files in `resources/list`. */
  readonly resources: Resource[]

  /** @throws McpError 'INVALID' for conflicting skills */
  constructor(skills: readonly SkillValue[]) {
    this.#skills = new Map(skills.map((one) => [manifestUri(one), one]))
    this.listed = skills.filter(({ listed }) => listed)
    this.resources = this.listed.map(manifestRow)
    for (const one of skills) this.#addFiles(one)
    for (const one of skills) {
      requireValidWithNested(one, this.#within(one))
      this.#addDirectories(one)
    }
  }

  find(uri: string): SkillValue | undefined {
    return this.#skills.get(uri)
  }

  file(uri: string): Content | undefined {
    return this.#files.get(uri)
  }

  /** The direct children of a directory; undefined if it does not exist. */
  directory(uri: string): readonly Resource[] | undefined {
    const children = this.#directories.get(uri)
    return children && [...children.values()]
  }

  /** The entry of a skill, with the files of nested skills. */
  async entry(value: SkillValue): Promise<Skill> {
    const uri = manifestUri(value)
    const { frontmatter } = value
    const resources: SkillResource[] = []
    for (const [segments, content] of this.#within(value)) {
      if (typeof content === 'function') return { uri, frontmatter, resources: 'dynamic' }
      resources.push({ uri: segments, digest: await this.#digest(segments, content), size: content.length })
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
      if (this.#files.has(uri)) throw invalid(path, `another skill also has a file at ${uri}`)
      this.#files.set(uri, content)
    }
  }

  #addDirectories(value: SkillValue): void {
    const minDepth = this.#topDirectoryDepth(value)
    for (const [name, content] of value.files) {
      const segments = [...value.path.split('/'), ...name.split('/')]
      this.#addChild(segments, name === manifestName ? manifestRow(value) : fileRow(segments, content))
      for (let depth = segments.length - 1; depth > minDepth; depth--) {
        const folder = segments.slice(0, depth)
        this.#addChild(folder, { uri: uriOf(folder), name: folder.at(-1) ?? '', mimeType: directoryType })
      }
    }
  }

  /** The depth from which on directories list a skill: the root, or for an unlisted one its outermost enclosing skill. */
  #topDirectoryDepth({ path, listed }: SkillValue): number {
    if (listed) return 1
    const enclosing = [...this.#skills.values()].filter((one) => `${path}/`.startsWith(`${one.path}/`))
    return Math.min(...enclosing.map((one) => one.path.split('/').length))
  }

  #addChild(segments: readonly string[], row: Resource): void {
    const parent = uriOf(segments.slice(0, -1))
    const children = this.#directories.get(parent) ?? new Map<string, Resource>()
    this.#directories.set(parent, children)
    const existing = children.get(row.uri)
    if (existing !== undefined && existing.mimeType !== row.mimeType) {
      throw new McpError('INVALID', `Skills have both a file and a folder at ${row.uri}`)
    }
    children.set(row.uri, row)
  }
}

function requireValidWithNested({ path }: SkillValue, files: readonly [string, Content][]): void {
  const known = files.flatMap(([, content]) => (typeof content === 'function' ? [] : [content.length]))
  if (known.length !== 0 && known.length !== files.length) {
    throw invalid(path, 'a skill and a skill nested in it must both be generated, or neither')
  }
  const bytes = known.reduce((sum, size) => sum + size, 0)
  if (files.length > skillLimits.files || bytes > skillLimits.bytes) {
    throw invalid(
      path,
      `with its nested skills it has ${files.length} files of ${bytes} bytes; the limit is ${skillLimits.files} files of ${skillLimits.bytes} bytes`,
    )
  }
}

function uriOf(segments: readonly string[]): string {
  return `skill://${segments.map(encodeURIComponent).join('/')}`
}

function manifestUri({ path }: SkillValue): string {
  return uriOf([...path.split('/'), manifestName])
}

function manifestRow(value: SkillValue): Resource {
  const { name, description } = value.frontmatter
  const content = value.files.get(manifestName)
  return { uri: manifestUri(value), name, description, mimeType: 'text/markdown', ...sizeOf(content) }
}

function fileRow(segments: readonly string[], content: Content): Resource {
  const name = segments.at(-1) ?? ''
  const mimeType = mimeTypeOf(name)
  return { uri: uriOf(segments), name, ...(mimeType && { mimeType }), ...sizeOf(content) }
}

function sizeOf(content: Content | undefined): { size?: number } {
  return content === undefined || typeof content === 'function' ? {} : { size: content.length }
}

function invalid(path: string, reason: string): McpError {
  return new McpError('INVALID', `Skill "${path}": ${reason}`)
}
