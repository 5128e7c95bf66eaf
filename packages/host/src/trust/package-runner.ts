import type { TrustFinding } from '../types/index.ts'

/** Options of the runners that take the next word along. */
const withValue =
  /^(?:-p|--package|--from|--with|--python|--index|--index-url|--extra-index-url|--spec|--registry|-C|--cache|--call)$/
const naming = /^(?:-p|--package|--from|--spec)(?:=|$)/

/** Says so where a runner such as `npx` or `uvx` fetches whatever version of a package is the newest. */
export function packageFinding(program: string, args: readonly string[]): TrustFinding | undefined {
  const start = firstWord(program, args)
  if (start === undefined) return undefined
  const found = packageAt(args, start)
  if (found === undefined || isPinned(found.name)) return undefined
  const { name, at } = found
  const message = isElsewhere(name)
    ? `${name} is fetched from outside the package registry, and nothing fixes its contents.`
    : `${name} names no exact version, so each start may run another program. Write the version behind it.`
  return { severity: 'warning', code: 'unpinned-package', at: `args[${at}]`, message }
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

function packageAt(args: readonly string[], start: number): { name: string; at: number } | undefined {
  for (let n = start; n < args.length; n++) {
    const arg = args[n] ?? ''
    if (naming.test(arg)) {
      const equals = arg.indexOf('=')
      return equals === -1 ? { name: args[n + 1] ?? '', at: n + 1 } : { name: arg.slice(equals + 1), at: n }
    }
    if (withValue.test(arg)) n++
    else if (arg !== '--' && !arg.startsWith('-')) return { name: arg, at: n }
  }
  return undefined
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
