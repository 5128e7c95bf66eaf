import { posix, win32 } from 'node:path'
import type { TrustFinding } from '../../types/index.ts'

/** Options of the runners that take the next word along. */
const withValue = /^(?:--python|--index|--index-url|--extra-index-url|--registry|-C|--cache)$/
/** Those that name a package, which is fetched and may run whatever it likes while it is installed. */
const naming = /^(?:-p|--package|--from|--spec|--with)(?:=|$)/
/** Those of npm and pnpm that have a shell run what follows. */
const script = /^(?:-c|--call|--shell-mode)(?:=|$)/
const runsScripts = new Set(['npx', 'pnpx', 'npm', 'pnpm'])

/** What a runner such as `npx` or `uvx` is asked to fetch and run. */
interface Wanted {
  packages: { name: string; at: number }[]
  runsScript: boolean
}

/** Says so where a runner fetches whatever version of a package is the newest, or has a shell run a script. */
export function packageFindings(program: string, args: readonly string[]): TrustFinding[] {
  const start = firstWord(program, args)
  if (start === undefined) return []
  const { packages, runsScript } = wantedAt(program, args, start)
  const message = 'It runs a shell script from its command line; read the script whole.'
  const shell: TrustFinding[] = runsScript
    ? [{ severity: 'warning', code: 'shell', at: 'command', message }]
    : []
  const unpinned = packages.find(({ name }) => !isPinned(name))
  return unpinned === undefined ? shell : [...shell, unpinnedFinding(unpinned)]
}

function unpinnedFinding({ name, at }: { name: string; at: number }): TrustFinding {
  const message = isElsewhere(name)
    ? `${name} is fetched from outside the package registry, and nothing fixes its contents.`
    : `${name} names no exact version, so each start may run another program. Write the version behind it.`
  return { severity: 'warning', code: 'unpinned-package', at: `args[${at}]`, message }
}

/** Programs that run the one that is named after them. */
const wrappers = new Set(['env', 'nice', 'nohup', 'time', 'timeout', 'stdbuf', 'setsid', 'exec', 'corepack'])
/** Scripts that are what these programs start. */
const scripts: Readonly<Record<string, string>> = {
  'npx-cli.js': 'npx',
  'npm-cli.js': 'npm',
  'pnpm.cjs': 'pnpm',
  'pnpx.cjs': 'pnpx',
  'yarn.js': 'yarn',
}

/** Whether a command line fetches a package and runs it, also through `env`, `cmd /c`, Node.js or `python -m`. */
export function runsPackage(command: string, args: readonly string[]): boolean {
  const program = programName(command)
  if (wrappers.has(program)) {
    const next = args.findIndex((arg) => !/^-|^\w+=|^[\d.]+[smhd]?$/.test(arg))
    return next !== -1 && runsPackage(args[next] ?? '', args.slice(next + 1))
  }
  if (program === 'cmd' && /^\/[ck]$/i.test(args[0] ?? '')) return runsPackage(args[1] ?? '', args.slice(2))
  if (/^(?:node|nodejs|bun|python[\d.]*|pypy[\d.]*)$/.test(program)) {
    const next = args.findIndex((arg) => !arg.startsWith('-'))
    const word = posix.basename((args[next] ?? '').replaceAll('\\', '/'))
    const meant = Object.hasOwn(scripts, word) ? (scripts[word] ?? word) : args[next - 1] === '-m' ? word : ''
    if (meant !== '') return runsPackage(meant, args.slice(next + 1))
  }
  return program === 'dnx' || firstWord(program, args) !== undefined
}

/** A program by its name alone. */
export function programName(command: string): string {
  const name = command.includes('\\') ? win32.basename(command) : posix.basename(command)
  return name.toLowerCase().replace(/\.(?:exe|cmd|bat|com)$/, '')
}

/** Where the words of the package begin, for programs that run packages. */
function firstWord(program: string, args: readonly string[]): number | undefined {
  if (program === 'npx' || program === 'bunx' || program === 'uvx' || program === 'pnpx') return 0
  const verbs = args.filter((arg) => !arg.startsWith('-')).slice(0, 2)
  const after = (verb: string): number => args.indexOf(verb) + 1
  const [first = '', second = ''] = verbs
  if ((program === 'pnpm' || program === 'yarn') && first === 'dlx') return after('dlx')
  if (program === 'npm' && (first === 'exec' || first === 'x')) return after(first)
  if (program === 'bun' && first === 'x') return after('x')
  if (program === 'pipx' && first === 'run') return after('run')
  if (program === 'uv' && first === 'tool' && second === 'run') return after('run')
  if (program === 'deno' && first === 'run' && args.some((arg) => /^(?:npm|jsr|https?):/.test(arg))) {
    return args.findIndex((arg) => /^(?:npm|jsr|https?):/.test(arg))
  }
  return undefined
}

function wantedAt(program: string, args: readonly string[], start: number): Wanted {
  const scripts = runsScripts.has(program)
  const ofPython = program === 'uvx' || program === 'uv'
  const packages: Wanted['packages'] = []
  let runsScript = false
  for (let n = start; n < args.length; n++) {
    const arg = args[n] ?? ''
    const equals = arg.indexOf('=')
    if (withValue.test(arg) || (ofPython && arg === '-p')) {
      n++
    } else if (naming.test(arg)) {
      packages.push(equals === -1 ? { name: args[++n] ?? '', at: n } : { name: arg.slice(equals + 1), at: n })
    } else if (scripts && script.test(arg)) {
      runsScript = true
    } else if (!runsScript && arg !== '--' && !arg.startsWith('-')) {
      return { packages: packages.length > 0 ? packages : [{ name: arg, at: n }], runsScript }
    }
  }
  return { packages, runsScript }
}

function isElsewhere(name: string): boolean {
  return (
    /^(?:git\+|git:|https?:|github:|gitlab:|ssh:)|^[\w.-]+\/[\w.-]+(?:#|$)/.test(name) &&
    !name.startsWith('@')
  )
}

function isPinned(name: string): boolean {
  if (/^(?:\.{0,2}[\\/]|~|file:|[A-Za-z]:[\\/])/.test(name)) return true
  if (/(?:#|@)[0-9a-f]{40}\b/.test(name)) return true
  return /.(?:@|==)v?\d+\.\d+\.\d+(?:[-+.][\w.+-]+)?$/.test(
    name.replace(/^(?:npm|jsr):/, '').replace(/\[[^\]]*\]/, ''),
  )
}
