/** Options of `jackfield call` that a generated command line forwards, and whether each takes a value. */
const forwardedOptions: Readonly<Record<string, boolean>> = {
  json: false,
  output: true,
  'save-media': true,
  config: true,
  profile: true,
  store: true,
  'no-store': false,
  answers: true,
  timeout: true,
  verbose: false,
}

/** Flags common to all tools. */
export const sharedFlags: ReadonlySet<string> = new Set([
  ...Object.keys(forwardedOptions),
  ...['help', 'version', 'server', 'args'],
])

/** The part of a generated command line that is the same for all servers. It reads `facts`. */
export const cliRuntime = {
  imports: `import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'`,
  body: String.raw`/** Options that are passed on to jackfield, and whether a value follows. */
const passed = ${JSON.stringify(forwardedOptions)}

const { program, commands } = facts
const typeNames = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'a JSON object',
  array: 'a JSON array',
  null: 'null',
}

/** The command line is wrong: exit code 2. */
class UsageError extends Error {}

function generalHelp() {
  const width = Math.max(...commands.map(({ command }) => command.length))
  return [
    'Usage: ' + program + ' <command> [--flag value ...] [options] [-- <command that starts the server>]',
    '',
    'Commands:',
    ...commands.map(({ command, about }) => ('  ' + command.padEnd(width) + '  ' + about).trimEnd()),
    '',
    'Options:',
    '  --help                 this text, or the flags of a command: ' + program + ' <command> --help',
    '  --version              what this file was generated from',
    '  --args <json>          arguments as one JSON object, @file with one, or - for stdin; flags are added to it',
    '  --server <name|URL>    the server: a name of the configuration of jackfield, or a URL',
    '  --json, --output <format>, --save-media <folder>, --config <file>, --profile <name>, --store <file>, --no-store,',
    '  --answers <file>, --timeout <seconds>, --verbose: as for jackfield call',
    '',
    serverHelp(),
    'Values: flag=@file reads a file, @- reads stdin, @@ begins text that starts with @. Arrays: repeat the flag, or give JSON.',
    'Exit codes: 0 done; 1 the tool failed or was refused; 2 wrong usage; 3 cannot connect; 4 protocol error;',
    '5 the definition of the tool changed and was not accepted (jackfield trust); 124 no answer in time (--timeout); 130 interrupted.',
  ].join('\n')
}

function serverHelp() {
  const named = facts.server === null ? 'none; name one' : JSON.stringify(facts.server)
  return 'Server: ' + named + ', unless --server, the variable ' + facts.variable + ' or a command after -- says otherwise.'
}

/** Text that is too wide for its column is on a line of its own. */
function row(left, right, width) {
  if (left.length <= width || right === '') return ('  ' + left.padEnd(width) + '  ' + right).trimEnd()
  return '  ' + left + '\n' + ' '.repeat(width + 4) + right
}

function commandHelp({ command, details, flags }) {
  const rows = flags.map(({ flag, shown, types, required, about, preset }) => {
    const value = types.length === 1 && types[0] === 'boolean' ? '' : ' <' + shown + '>'
    const note = required ? ' (required)' : preset === '' ? '' : ' (default ' + preset + ')'
    return ['--' + flag + value, (about + note).trim()]
  })
  const width = Math.min(36, Math.max(0, ...rows.map(([left]) => left.length)))
  return [
    'Usage: ' + program + ' ' + command + flags.filter(({ required }) => required).map(({ flag }) => ' --' + flag + ' <value>').join('') + ' [options]',
    ...(details === '' ? [] : ['', details]),
    '',
    ...(rows.length === 0 ? ['It takes no arguments.'] : rows.map(([left, right]) => row(left, right, width))),
    '',
    'Options of every command: ' + program + ' --help',
  ].join('\n')
}

function textFrom(name, text) {
  if (text.startsWith('@@')) return text.slice(1)
  if (!text.startsWith('@')) return text
  const file = text.slice(1)
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(name + ': the file ' + JSON.stringify(file) + ' cannot be read (' + error.code + '). To pass text that begins with @, write @@.')
  }
}

function jsonFrom(name, text) {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(name + ' is not valid JSON: ' + error.message)
  }
}

/** Converts a text to the first of the schema's types that it can be. */
function valueOf(name, given, types) {
  const text = textFrom(name, given)
  const can = (type) => types.includes(type)
  if (types.length === 0) return text
  if (can('null') && text === 'null') return null
  if (can('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if (can('number') || can('integer')) {
    const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN
    if (Number.isFinite(number) && (can('number') || Number.isInteger(number))) return number
  }
  if ((can('array') || can('object')) && (!can('string') || /^\s*[[{]/.test(text))) {
    const value = jsonFrom(name, text)
    if (can('array') && Array.isArray(value)) return value
    if (can('object') && typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  }
  if (can('string')) return text
  throw new UsageError(name + ' must be ' + types.map((type) => typeNames[type]).join(' or ') + ', not ' + JSON.stringify(text) + '.')
}

/** The value of a flag that is given once or more often. */
function flagValue({ flag, types, items }, texts) {
  const name = '--' + flag
  const isList = types.includes('array')
  const [only] = texts
  if (texts.length > 1) {
    if (types.length > 0 && !isList) throw new UsageError(name + ' is given ' + texts.length + ' times, but takes one value.')
    return texts.map((text) => valueOf(name, text, items))
  }
  const bare = isList && !types.includes('string') && !/^\s*[[{@]/.test(only)
  return bare ? [valueOf(name, only, items)] : valueOf(name, only, types)
}

/** Reads the words of a command line. */
function read(words) {
  const shared = []
  const parsed = { shared, flags: new Map(), places: [], help: false, version: false }
  const end = words.indexOf('--')
  if (end !== -1) parsed.start = words.slice(end + 1)
  const own = end === -1 ? words : words.slice(0, end)
  const valueAfter = (at, name) => {
    const next = own[at + 1]
    if (next !== undefined && !next.startsWith('--')) return next
    throw new UsageError('--' + name + ' needs a value. To pass one that begins with --, write --' + name + '=<value>.')
  }
  for (let at = 0; at < own.length; at += 1) {
    const word = own[at]
    if (word === '-h' || word === '--help') parsed.help = true
    else if (!word.startsWith('--')) {
      if (parsed.command !== undefined) parsed.places.push(word)
      else if (word === 'help') parsed.help = true
      else parsed.command = commandNamed(word)
    } else {
      const equals = word.indexOf('=')
      const name = word.slice(2, equals === -1 ? undefined : equals)
      const written = equals === -1 ? undefined : word.slice(equals + 1)
      const value = () => written ?? valueAfter((at += 1) - 1, name)
      if (name === 'version') parsed.version = true
      else if (name === 'server') parsed.server = value()
      else if (name === 'args') parsed.args = value()
      else if (Object.hasOwn(passed, name)) shared.push('--' + name, ...(passed[name] ? [value()] : []))
      else {
        const { flag, isNegated } = flagNamed(parsed.command, name)
        const onlyBoolean = flag.types.length === 1 && flag.types[0] === 'boolean'
        const next = own[at + 1]
        const text = isNegated ? 'false' : onlyBoolean && written === undefined && next !== 'true' && next !== 'false' ? 'true' : value()
        parsed.flags.set(flag, [...(parsed.flags.get(flag) ?? []), text])
      }
    }
  }
  return parsed
}

function commandNamed(word) {
  const match = commands.find(({ command }) => command === word) ?? commands.find(({ tool }) => tool === word)
  if (match !== undefined) return match
  throw new UsageError('There is no command ' + JSON.stringify(word) + '. There are: ' + commands.map(({ command }) => command).join(', ') + '.')
}

function flagNamed(command, name) {
  if (command === undefined) throw new UsageError('--' + name + ' is unknown before a command. Try ' + program + ' --help.')
  const named = (wanted) => command.flags.find(({ flag }) => flag === wanted) ?? command.flags.find(({ property }) => property === wanted)
  const flag = named(name)
  if (flag !== undefined) return { flag, isNegated: false }
  const negated = name.startsWith('no-') ? named(name.slice(3)) : undefined
  if (negated !== undefined && negated.types.includes('boolean')) return { flag: negated, isNegated: true }
  const known = command.flags.map((one) => '--' + one.flag).join(', ')
  throw new UsageError(command.command + ' has no flag --' + name + '. ' + (known === '' ? 'It takes none.' : 'It takes: ' + known + '.') + (command.isOpen ? ' Give other arguments with --args.' : ''))
}

/** The arguments of the tool, checked against its schema. */
async function argumentsOf({ command, flags, places, args }, folder) {
  const given = args === undefined ? {} : jsonFrom('--args', textFrom('--args', args === '-' ? '@-' : args))
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new UsageError('--args must be a JSON object.')
  const free = command.flags.filter((flag) => flag.required && !flags.has(flag) && !Object.hasOwn(given, flag.property))
  for (const place of places) {
    const flag = free.shift()
    if (flag === undefined) throw new UsageError(JSON.stringify(place) + ' is one value too many. Try ' + program + ' ' + command.command + ' --help.')
    flags.set(flag, [place])
  }
  const all = Object.fromEntries([...Object.entries(given), ...[...flags].map(([flag, texts]) => [flag.property, flagValue(flag, texts)])])
  const missing = command.flags.filter(({ required, property }) => required && !Object.hasOwn(all, property))
  if (missing.length > 0) throw new UsageError('Missing: ' + missing.map(({ flag, shown }) => '--' + flag + ' <' + shown + '>').join(', ') + '.')
  const problem = await problemWith(all, command, folder)
  if (problem !== undefined) throw new UsageError(problem)
  return all
}

/** What is wrong with arguments; undefined where nothing is, or the schema is one that only its server can read. */
async function problemWith(args, { flags, schema }, folder) {
  const require = createRequire(join(folder, 'package.json'))
  const { compileSchema } = await import(pathToFileURL(require.resolve('@jackfield/sdk/schema')).href)
  let validator
  try {
    validator = compileSchema(schema)
  } catch {
    return undefined
  }
  const problems = validator.issues(args).map(({ path, message }) => {
    const [, first = '', rest = ''] = /^\/([^/]*)(.*)$/s.exec(path) ?? []
    const name = first.replaceAll('~1', '/').replaceAll('~0', '~')
    const flag = flags.find(({ property }) => property === name)
    return ((flag === undefined ? path : '--' + flag.flag + rest) + ' ' + message).trim()
  })
  return problems.length === 0 ? undefined : problems.join('\n')
}

/** The folder of the package jackfield: beside this file, else the one on the PATH. */
function jackfieldFolder() {
  const places = []
  try {
    places.push(dirname(createRequire(import.meta.url).resolve('jackfield/package.json')))
  } catch {
    // It is not installed beside this file.
  }
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter((entry) => entry !== '')) {
    try {
      places.push(dirname(dirname(realpathSync(join(folder, 'jackfield')))))
    } catch {
      // It is not in this folder.
    }
    places.push(join(folder, 'node_modules', 'jackfield'))
  }
  const match = places.find((place) => existsSync(join(place, 'bin', 'jackfield.js')) && existsSync(join(place, 'package.json')))
  if (match !== undefined) return match
  throw new UsageError('jackfield is neither installed beside this file nor on the PATH. Install it with npm install jackfield, or npm install --global jackfield.')
}

async function main() {
  const given = read(process.argv.slice(2))
  const { command, help, version, shared, start } = given
  if (version) return console.log(facts.version)
  if (help) return console.log(command === undefined ? generalHelp() : commandHelp(command))
  if (command === undefined) throw new UsageError(generalHelp())
  const folder = jackfieldFolder()
  const args = JSON.stringify(await argumentsOf(given, folder))
  const server = given.server ?? process.env[facts.variable] ?? facts.server
  if (start === undefined && (server === null || server === '')) {
    throw new UsageError('Which server? Name one with --server <name or URL>, in the variable ' + facts.variable + ', or give the command that starts it after --.')
  }
  const target = start === undefined ? [server] : []
  const after = start === undefined ? [] : ['--', ...start]
  // In this process, so that arguments are in no list of processes.
  process.argv.splice(2, process.argv.length, 'call', ...target, command.tool, '--args', args, ...shared, ...after)
  await import(pathToFileURL(join(folder, 'bin', 'jackfield.js')).href)
}

try {
  await main()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  const message = error.message.replace(/[^\P{C}\n]/gu, '?')
  console.error(process.argv.includes('--json') ? JSON.stringify({ error: { message } }) : message)
  process.exitCode = 2
}
`,
}
