import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, relative } from 'node:path'

/** Content types by file extension. Other files are not served. */
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
  /** Its name has a hash of its content, so a browser may cache it without revalidation. */
  readonly isImmutable: boolean
}

const segment = '[^/?#]+'
/** The routes of the page; a URI is one segment, percent-encoded. */
const routes: readonly RegExp[] = [
  '',
  `chat(/${segment}){0,2}`,
  'servers',
  `servers/${segment}(/(config|trust|folders|sampling|doctor))?`,
  `inbox(/${segment})?`,
  `inspect(/${segment}(/(tools|prompts|resources|templates|tasks|server)(/${segment})?)?)?`,
  `tasks(/${segment})?`,
  'permissions(/(rules|given|explain|try))?',
  `activity(/${segment}(/again)?)?`,
  `library(/${segment}(/${segment})?)?`,
  `settings(/(models|servers|secrets|config|folders|surfaces|look|registry(/${segment})?))?`,
].map((route) => new RegExp(`^/${route}/?$`))

/** Whether a path is a route of the page, which has its own router. */
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

  /** The text of `index.html`; undefined if the page is not built. */
  index(): string | undefined {
    this.#refresh()
    return this.#index
  }

  /** Finds the file of a URL path, such as `/assets/index.js`. Only files of the last build are found. */
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
