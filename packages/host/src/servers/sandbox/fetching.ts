import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** A program that fetches what it runs from a package registry at every start. */
export interface Fetching {
  program: string
  /** Where the person's registry is written, under the home folder. */
  settings: string
  /** The variable that names a registry as well. */
  variable: string
}

const npm = { settings: '.npmrc', variable: 'npm_config_registry' }
const uv = { settings: '.config/uv/uv.toml', variable: 'UV_DEFAULT_INDEX' }
const pip = { settings: '.config/pip/pip.conf', variable: 'PIP_INDEX_URL' }
const ways: readonly [words: RegExp, way: Omit<Fetching, 'program'>][] = [
  [/^(?:npx|pnpx|bunx)\b|^npm (?:exec|x)\b|^(?:pnpm|yarn) dlx\b|^bun x\b/, npm],
  [/^uvx\b|^uv (?:tool run|run)\b/, uv],
  [/^pipx run\b/, pip],
]

/** How a command fetches what it runs; undefined where it does not. */
export function fetchingOf(command: string, args: readonly string[]): Fetching | undefined {
  const program = basename(command)
  const words = [program, ...args.filter((arg) => !arg.startsWith('-')).slice(0, 2)].join(' ')
  const way = ways.find(([pattern]) => pattern.test(words))?.[1]
  return way && { program, ...way }
}

/** What a person does where a sandbox refused places, after the reason why the server did not start. */
export async function wayOutOf(
  refused: readonly string[],
  fetching: Fetching | undefined,
  home: string,
): Promise<string | undefined> {
  if (refused.length === 0) return undefined
  const listed = refused.map((place) => JSON.stringify(place.replace(/:(?:443|80)$/, ''))).join(', ')
  const reach = `Its sandbox did not let it reach ${refused.join(', ')}; if that is meant, set "network": [${listed}] in its "sandbox".`
  if (fetching === undefined) return reach
  const { program, settings, variable } = fetching
  const file = join(home, settings)
  const own = await stat(file).catch(() => undefined)
  const unread = own?.isFile()
    ? ` ${file} is not read in the sandbox: name the registry in ${variable} under "env".`
    : ''
  return `${program} fetches what it runs at every start. ${reach}${unread}`
}
