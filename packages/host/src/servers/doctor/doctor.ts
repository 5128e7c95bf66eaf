import { constants } from 'node:fs'
import { access, open, stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { McpError } from '@jackfield/sdk'
import {
  type Client,
  type ClientTransportFactory,
  type ConnectOptions,
  connect,
  http,
} from '@jackfield/sdk/client'
import { defaultEnvironment, stdio } from '@jackfield/sdk/client/stdio'
import type { ConfigEnvironment } from '../../config/variables.ts'
import { noLists } from '../../core/trust/definitions.ts'
import { fixesOf } from '../../shared/failures.ts'
import { isFile, findProgram as programFile } from '../../shared/files.ts'
import { reasonOf } from '../../shared/text.ts'
import type {
  DoctorReport,
  DoctorStep,
  HttpServerConfig,
  ServerConfig,
  StdioServerConfig,
} from '../../types/index.ts'
import { allKinds, refreshLists } from '../connections/lists.ts'
import type { Login } from '../login/login.ts'
import { fetchIn, shownProxy } from '../network/fetch.ts'
import { sandboxReady } from '../sandbox/ready.ts'
import { type SandboxedCommand, sandboxed } from '../sandbox/sandbox.ts'
import { askHttp, checkAccess, greetTls, openPort, readAddress, resolveName } from './network.ts'
import { DoctorSteps, type Finding, StepFailure } from './steps.ts'

interface DiagnoseOptions {
  /** Asks for consent and expands variables. */
  prepare: (config: ServerConfig) => Promise<ServerConfig>
  /** Redacts a step. */
  shown: (step: DoctorStep) => DoctorStep
  onStep?: ((step: DoctorStep) => void) | undefined
  /** The stored credentials of a server; undefined if its configuration has others. */
  login: (config: HttpServerConfig) => Promise<Login | undefined>
  /** The proxy for a URL. */
  env: ConfigEnvironment
  signal: AbortSignal
}

const connectMs = 15_000
const listMs = 10_000
const maxOutputChars = 4_096

/** Diagnoses a server step by step, each with a finding and a fix. */
export async function diagnoseServer(
  server: string,
  config: ServerConfig,
  { prepare, shown, onStep, login, env, signal }: DiagnoseOptions,
): Promise<DoctorReport> {
  const chart = new DoctorSteps((step) => onStep?.(shown(step)))
  const isOfFolder = config.from?.layer === 'project'
  const ready = await chart.step('variables', async () => {
    try {
      return {
        finding: { message: `${isOfFolder ? 'consent is given, and ' : ''}all variables are set` },
        found: await prepare(config),
      }
    } catch (error) {
      const fixes = fixesOf(error)
      throw new StepFailure(
        error instanceof Error ? error.message : String(error),
        fixes.length === 0 ? 'Follow this message, then diagnose it again.' : undefined,
        fixes,
      )
    }
  })
  if (ready !== undefined) {
    if ('url' in ready) await diagnoseAddress(server, ready, chart, { login, env, signal })
    else await diagnoseProgram(ready, chart, signal)
  }
  const report = chart.report(server)
  return { ...report, steps: report.steps.map(shown) }
}

async function diagnoseProgram(
  config: StdioServerConfig,
  chart: DoctorSteps,
  signal: AbortSignal,
): Promise<void> {
  await chart.step('environment', async () => ({ finding: checkEnvironment(config), found: true }))
  const program = await chart.step('command', () => findProgram(config))
  await chart.step('executable', () => mayRun(program ?? ''))
  const box = config.sandbox ? await chart.step('sandbox', () => enclosed(config)) : undefined
  let stderr = ''
  let tried: Tried | undefined
  await chart.step('start', async () => {
    const onStderr = (text: string): void => {
      stderr = (stderr + text).slice(-maxOutputChars)
    }
    tried = await tryToConnect(stdio({ ...(box?.launch ?? config), onStderr }), options(config, signal))
    return checkStart(tried, stderr)
  })
  await finish(chart, () => tried, 'output')
  await box?.closed()
}

async function enclosed(config: StdioServerConfig): Promise<{ finding: Finding; found: SandboxedCommand }> {
  const ready = await sandboxReady()
  if (!ready.ready) throw new StepFailure(ready.reason, ready.advice)
  const launch = await sandboxed(config)
  const limits = Object.entries(ready.unenforced).map(
    ([name, reason]) => `; "${name}" is not enforced here, as ${reason}`,
  )
  return {
    finding: { message: `bubblewrap ${ready.version} can create one${limits.join('')}` },
    found: launch,
  }
}

async function diagnoseAddress(
  server: string,
  config: HttpServerConfig,
  chart: DoctorSteps,
  { login, env, signal }: Pick<DiagnoseOptions, 'login' | 'env' | 'signal'>,
): Promise<void> {
  const url = await chart.step('address', async () => readAddress(config.url, env))
  const fetch = fetchIn(env)
  const headers = config.headers ?? {}
  if (url?.proxy !== undefined) chart.skip('dns', `the proxy ${shownProxy(url.proxy)} resolves the name`)
  else await chart.step('dns', () => needed(url, resolveName))
  await chart.step('tcp', () => needed(url, (at) => openPort(at, signal)))
  if (url?.url.protocol === 'http:') chart.skip('tls', 'the address is http')
  else await chart.step('tls', () => needed(url, (at) => greetTls(at, signal)))
  const answer = await chart.step('http', () => needed(url, (at) => askHttp(at, headers, fetch, signal)))
  const known = Object.keys(headers).some((name) => /authorization|key|token|cookie/i.test(name))
  let tried: Tried | undefined
  const signedIn = answer?.status === 401 ? await login(config) : undefined
  if (signedIn !== undefined) {
    const { auth } = signedIn
    const target = http(config.url, { headers, fetch, auth })
    tried = await signedIn.during('quietly', () => tryToConnect(target, options(config, signal)))
  }
  await chart.step('auth', async () =>
    tried?.client === undefined
      ? needed(answer, async (found) =>
          checkAccess(found, { server, hasCredentials: known, canSignIn: signedIn !== undefined }),
        )
      : { finding: { message: 'the stored login is accepted' }, found: true },
  )
  if (answer !== undefined && answer.status !== 401 && answer.status !== 403)
    tried = await tryToConnect(http(config.url, { headers, fetch }), options(config, signal))
  await finish(chart, () => tried)
}

/** The steps for both kinds of server, once connected. */
async function finish(
  chart: DoctorSteps,
  tried: () => Tried | undefined,
  ...before: 'output'[]
): Promise<void> {
  try {
    for (const name of before)
      await chart.step(name, () => needed(tried(), async (found) => checkOutput(found)))
    const client = await chart.step('handshake', () =>
      needed(tried(), async (found) => checkHandshake(found)),
    )
    await chart.step('lists', () => needed(client, (found) => checkLists(found, listMs)))
  } finally {
    await tried()?.client?.close()
  }
}

function options(
  config: ServerConfig,
  signal: AbortSignal,
): { connectTimeoutMs: number; probeTimeoutMs: number; signal: AbortSignal } {
  const connectTimeoutMs = config.connectTimeoutMs ?? connectMs
  return { connectTimeoutMs, probeTimeoutMs: Math.ceil(connectTimeoutMs / 3), signal }
}

/** A step that needs the result of an earlier one; not started if that one failed. */
function needed<T, R>(value: T | undefined, work: (value: T) => Promise<R>): Promise<R> {
  if (value === undefined)
    throw new StepFailure('not checked: an earlier step failed', 'Correct that one first.')
  return work(value)
}

const firstBytes = 200
const maxNames = 60

/** Finds the file of a command, as the system would. */
async function findProgram({
  command,
  env,
  cwd,
}: StdioServerConfig): Promise<{ finding: Finding; found: string }> {
  const folder = resolve(cwd ?? '.')
  if (cwd !== undefined && !(await isFolder(folder)))
    throw new StepFailure(
      `its working folder ${folder} does not exist`,
      'Correct "cwd", or create the folder.',
    )
  if (isAbsolute(command) || command.includes('/') || command.includes('\\')) {
    const file = resolve(folder, command)
    if (await isFile(file)) return { finding: { message: file }, found: file }
    throw new StepFailure(`there is no file ${file}`, 'Correct "command", or install what it names.')
  }
  const path = env?.['PATH'] ?? process.env['PATH'] ?? ''
  const file = await programFile(command, { path, cwd: folder, env: process.env })
  if (file !== undefined) return { finding: { message: file }, found: file }
  throw new StepFailure(`no folder in PATH contains a program "${command}"`, advice(command))
}

/** Variables that a shell sets for itself. */
const ofShell: ReadonlySet<string> = new Set(['_', 'OLDPWD', 'PWD', 'SHLVL'])

/** Which environment variables it gets, and which of this process it does not. */
function checkEnvironment({ env = {}, sandbox }: StdioServerConfig): Finding {
  const usual = Object.keys(defaultEnvironment())
  const given = [...new Set([...usual, ...Object.keys(env)])]
  const withheld = Object.keys(process.env).filter((name) => !given.includes(name) && !ofShell.has(name))
  const inside = sandbox ? ' (its sandbox has a PATH, HOME and LANG of its own)' : ''
  return { message: `given: ${listed(given)}${inside}; withheld: ${listed(withheld)}` }
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'nothing'
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : ''
  return `${names.toSorted().slice(0, maxNames).join(', ')}${more}`
}

async function mayRun(file: string): Promise<{ finding: Finding; found: true }> {
  try {
    await access(file, constants.X_OK)
  } catch {
    throw new StepFailure(`${file} is not allowed to be executed`, `Allow it with: chmod +x ${file}`)
  }
  const interpreter = await interpreterOf(file)
  if (interpreter !== undefined && isAbsolute(interpreter) && !(await isFile(interpreter)))
    throw new StepFailure(
      `its first line names ${interpreter}, which does not exist`,
      `Install it, or correct the first line of ${file}.`,
    )
  return { finding: { message: 'may be started' }, found: true }
}

function advice(command: string): string {
  const known: Readonly<Record<string, string>> = {
    npx: 'Install Node.js, which brings npx.',
    node: 'Install Node.js.',
    uvx: 'Install uv, which brings uvx.',
    uv: 'Install uv.',
    docker: 'Install Docker, and start it.',
    python: 'Install Python, or try python3.',
    bunx: 'Install Bun, which brings bunx.',
    dnx: 'Install the .NET SDK, which brings dnx.',
  }
  const hint = Object.hasOwn(known, command) ? known[command] : undefined
  return hint ?? 'Install it, or write the whole path of the program as "command".'
}

async function interpreterOf(file: string): Promise<string | undefined> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(firstBytes), 0, firstBytes, 0)
    return /^#!\s*(\S+)/.exec(buffer.toString('latin1', 0, bytesRead))?.[1]
  } finally {
    await handle.close()
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

/** A connection attempt, with observations. */
interface Tried {
  client: Client | undefined
  error: unknown
  warnings: string[]
}

/** Connects and never rejects. */
async function tryToConnect(target: ClientTransportFactory, options: ConnectOptions): Promise<Tried> {
  const warnings: string[] = []
  try {
    const client = await connect(target, { ...options, onWarning: (message) => warnings.push(message) })
    return { client, error: undefined, warnings }
  } catch (error) {
    return { client: undefined, error, warnings }
  }
}

function checkStart({ error }: Tried, stderr: string): { finding: Finding; found: true } {
  if (!(error instanceof McpError)) return { finding: { message: 'it runs' }, found: true }
  const { code, details, message } = error
  if (code === 'CONNECT_FAILED' && !('exitCode' in details))
    throw new StepFailure(message, 'Start it by hand in a terminal to see its output.')
  const ended = /exited with code|was ended by|closed its/.test(message)
  if (!ended) return { finding: { message: 'it runs' }, found: true }
  const last = stderr.trim().split('\n').at(-1) ?? ''
  const advice =
    last === ''
      ? 'Start it by hand in a terminal to see its output.'
      : 'Its output on stderr says why. It may need an argument, a variable in "env", or a package.'
  throw new StepFailure(message, advice)
}

/** Whether it writes only protocol messages to stdout. */
function checkOutput({ client, warnings }: Tried): { finding: Finding; found: true } {
  const noise = warnings.filter((warning) => warning.startsWith('Ignored output that is not a message'))
  const [first] = noise
  if (first === undefined) return { finding: { message: 'only messages' }, found: true }
  const times = noise.length === 1 ? 'once' : `${noise.length} times`
  const message = `it wrote text that is not a message to stdout, ${times}; first: ${first.replace(/^Ignored output that is not a message /, '')}`
  const advice =
    'Its logs belong on stderr. Look for an option that makes it quiet, or report it to its developer.'
  if (client === undefined) throw new StepFailure(message, advice)
  // It is ignored here, but other clients close such a connection.
  return { finding: { message, note: true, advice }, found: true }
}

/** Whether both sides support a common revision. */
function checkHandshake({ client, error }: Tried): { finding: Finding; found: Client } {
  if (client !== undefined) {
    const { info, era, revision } = client.server
    const who = info === undefined ? 'the server' : `${info.name} ${info.version}`
    const kind = era === 'stateless' ? 'stateless' : 'with a session'
    return { finding: { message: `${who} speaks ${revision}, ${kind}` }, found: client }
  }
  throw new StepFailure(reasonOf(error), handshakeAdvice(error))
}

function handshakeAdvice(error: unknown): string {
  if (error instanceof McpError) {
    if (error.code === 'TIMEOUT')
      return 'It runs but does not respond. Is this an MCP server, and does it wait for something, such as a login?'
    if (error.code === 'VERSION_MISMATCH') return 'It supports no revision that is known here. Update it.'
    if (error.code === 'HTTP') return 'Check the path of its address, and its log.'
    if (error.code === 'UNAUTHORIZED') return 'Sign in, or put a token into "headers".'
  }
  return 'It responds, but not with valid MCP messages. Report the output above to its author.'
}

async function checkLists(client: Client, withinMs: number): Promise<{ finding: Finding; found: true }> {
  const { lists, problems } = await refreshLists(client, noLists, allKinds, withinMs)
  const [problem] = problems.values()
  if (problem !== undefined)
    throw new StepFailure(
      problem.reason,
      'It declares this list, but does not return it. Report it to its author.',
    )
  const { tools, prompts, resources, templates } = lists
  const message = [
    counted(tools.length, 'tool'),
    counted(prompts.length, 'prompt'),
    counted(resources.length, 'resource'),
    counted(templates.length, 'template'),
  ].join(', ')
  const nothing = tools.length + prompts.length + resources.length + templates.length === 0
  return {
    finding: {
      message,
      ...(nothing && {
        note: true,
        advice: 'It offers no tools, prompts or resources. It may need an option that selects them.',
      }),
    },
    found: true,
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
