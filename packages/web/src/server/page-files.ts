import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, relative } from 'node:path'

/** Files that the server sends, by their ending. */
const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}

/** A file of the built page. */
export interface PageFile {
  readonly path: string
  readonly contentType: string
  /** Its name has a hash of its content, so a browser may keep it for good. */
  readonly isImmutable: boolean
}

const name = '[^/?#]+'
/** The addresses of the page, by their first segment; a URI is one segment, percent-encoded. */
const routes: readonly RegExp[] = [
  '',
  `chat(/${name}){0,2}`,
  'servers',
  `servers/${name}(/(config|trust|folders|sampling|doctor))?`,
  `inbox(/${name})?`,
  `inspect(/${name}(/(tools|prompts|resources|templates|tasks|server)(/${name})?)?)?`,
  `tasks(/${name})?`,
  'permissions(/(rules|given|explain|try))?',
  `activity(/${name}(/again)?)?`,
  `library(/${name}(/${name})?)?`,
  `settings(/(models|servers|secrets|config|folders|surfaces|look|registry(/${name})?))?`,
].map((route) => new RegExp(`^/${route}/?$`))

/** Whether a path is an address of the page, which has its own router. */
export function isPageRoute(path: string): boolean {
  return routes.some((route) => route.test(path))
}

/** The built page: `index.html` and the files that it loads. A page that is built again is served without a restart. */
export class PageFiles {
  readonly #folder: string
  #builtMs: number | undefined
  #index: string | undefined
  #build: string | undefined
  #files: ReadonlyMap<string, PageFile> = new Map()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Identifies the build of the page, by the names of its files, which have hashes of their content. */
  build(): string | undefined {
    this.#refresh()
    return this.#build
  }

  /** The text of `index.html`; undefined where the page is not built. */
  index(): string | undefined {
    this.#refresh()
    return this.#index
  }

  /** The file at a path of an address. Only files that were there when the page was built are found. */
  find(path: string): PageFile | undefined {
    this.#refresh()
    return this.#files.get(path)
  }

  #refresh(): void {
    const index = join(this.#folder, 'index.html')
    const builtMs = statSync(index, { throwIfNoEntry: false })?.mtimeMs
    if (builtMs === this.#builtMs) return
    const text = builtMs === undefined ? undefined : readFileSync(index, 'utf8')
    this.#build =
      text === undefined ? undefined : createHash('sha256').update(text).digest('base64url').slice(0, 16)
    this.#index = text?.replaceAll('__BUILD__', this.#build ?? '')
    this.#files = builtMs === undefined ? new Map() : filesOf(this.#folder)
    this.#builtMs = builtMs
  }
}

function filesOf(folder: string): Map<string, PageFile> {
  const files = new Map<string, PageFile>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const contentType = contentTypes[extname(entry.name)]
    if (!entry.isFile() || contentType === undefined) continue
    const path = join(entry.parentPath, entry.name)
    const address = `/${relative(folder, path).replaceAll('\\', '/')}`
    const isImmutable = /^\/assets\/.*-[\w-]{8,}\.\w+$/.test(address)
    files.set(address, { path, contentType, isImmutable })
  }
  return files
}
