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
import { downloadTimeoutMs, mayDownload } from '../launch/command-scan.ts'
import type { Login } from '../login/login.ts'
import { SignInNeeded } from '../login/sign-in-needed.ts'
import { fetchIn, shownProxy } from '../network/fetch.ts'
import { sandboxReady } from '../sandbox/ready.ts'
import { type SandboxedCommand, sandboxed } from '../sandbox/sandbox.ts'
import {
  checkAccess,
  type LoginChance,
  openPort,
  readAddress,
  resolveName,
  sendPing,
  startTls,
} from './network.ts'
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

const defaultConnectTimeoutMs = 15_000
const listTimeoutMs = 10_000
const maxOutputChars = 4_096

/** Diagnoses a server step by step, each with a finding and a fix. */
export async function diagnoseServer(
  server: string,
  config: ServerConfig,
  { prepare, shown, onStep, login, env, signal }: DiagnoseOptions,
): Promise<DoctorReport> {
  const steps = new DoctorSteps((step) => onStep?.(shown(step)))
  const isOfFolder = config.from?.layer === 'project'
  const resolvedConfig = await steps.step('variables', async () => {
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
  if (resolvedConfig !== undefined) {
    if ('url' in resolvedConfig) await diagnoseAddress(server, resolvedConfig, steps, { login, env, signal })
    else await diagnoseProgram(resolvedConfig, steps, signal)
  }
  const report = steps.report(server)
  return { ...report, steps: report.steps.map(shown) }
}

async function diagnoseProgram(
  config: StdioServerConfig,
  steps: DoctorSteps,
  signal: AbortSignal,
): Promise<void> {
  await steps.step('environment', async () => ({ finding: checkEnvironment(config), found: true }))
  const program = await steps.step('command', () => findProgram(config))
  await steps.step('executable', () => checkExecutable(program ?? ''))
  const sandbox = config.sandbox ? await steps.step('sandbox', () => checkSandbox(config)) : undefined
  let stderr = ''
  let attempt: ConnectionAttempt | undefined
  await steps.step('start', async () => {
    const onStderr = (text: string): void => {
      stderr = (stderr + text).slice(-maxOutputChars)
    }
    attempt = await tryToConnect(
      stdio({ ...(sandbox?.launch ?? config), onStderr }),
      connectOptions(config, signal),
    )
    return checkStart(attempt, stderr)
  })
  await runProtocolSteps(steps, () => attempt, 'output')
  await sandbox?.closed()
}

async function checkSandbox(
  config: StdioServerConfig,
): Promise<{ finding: Finding; found: SandboxedCommand }> {
  const readiness = await sandboxReady()
  if (!readiness.ready) throw new StepFailure(readiness.reason, readiness.advice)
  const launch = await sandboxed(config)
  const limits = Object.entries(readiness.unenforced).map(
    ([name, reason]) => `; "${name}" is not enforced here, as ${reason}`,
  )
  return {
    finding: { message: `bubblewrap ${readiness.version} can create one${limits.join('')}` },
    found: launch,
  }
}

async function diagnoseAddress(
  server: string,
  config: HttpServerConfig,
  steps: DoctorSteps,
  { login, env, signal }: Pick<DiagnoseOptions, 'login' | 'env' | 'signal'>,
): Promise<void> {
  const url = await steps.step('address', async () => readAddress(config.url, env))
  const fetch = fetchIn(env)
  const headers = config.headers ?? {}
  if (url?.proxy !== undefined) steps.skip('dns', `the proxy ${shownProxy(url.proxy)} resolves the name`)
  else await steps.step('dns', () => withResult(url, resolveName))
  await steps.step('tcp', () => withResult(url, (at) => openPort(at, signal)))
  if (url?.url.protocol === 'http:') steps.skip('tls', 'the address is http')
  else await steps.step('tls', () => withResult(url, (at) => startTls(at, signal)))
  const answer = await steps.step('http', () => withResult(url, (at) => sendPing(at, headers, fetch, signal)))
  const hasCredentialHeader = Object.keys(headers).some((name) =>
    /authorization|key|token|cookie/i.test(name),
  )
  let attempt: ConnectionAttempt | undefined
  const signedIn = answer?.status === 401 ? await login(config) : undefined
  if (signedIn !== undefined) {
    const { auth } = signedIn
    const target = http(config.url, { headers, fetch, auth })
    attempt = await signedIn.during('quietly', () => tryToConnect(target, connectOptions(config, signal)))
  }
  await steps.step('auth', async () =>
    attempt?.client === undefined
      ? withResult(answer, async (found) =>
          checkAccess(found, {
            server,
            hasCredentials: hasCredentialHeader,
            login: signedIn === undefined ? { first: 'token' } : loginFrom(found.challenge, attempt?.error),
          }),
        )
      : { finding: { message: 'the stored login is accepted' }, found: true },
  )
  if (answer !== undefined && answer.status !== 401 && answer.status !== 403)
    attempt = await tryToConnect(http(config.url, { headers, fetch }), connectOptions(config, signal))
  await runProtocolSteps(steps, () => attempt)
}

/** Whether a login can succeed, from the response of the server and the error of an attempt that opens no page. */
function loginFrom(challenge: string | null, error: unknown): LoginChance {
  if (error instanceof SignInNeeded) return { first: 'sign-in' }
  const missing = error instanceof McpError ? error.details['missing'] : undefined
  if (missing === 'client')
    return { first: 'client', problem: 'its authorization server does not register clients by itself' }
  if (missing !== undefined) return { first: 'token', problem: 'it names no authorization server' }
  const first = challenge?.includes('resource_metadata') === true ? 'sign-in' : 'token'
  return { first, problem: `a sign-in fails: ${reasonOf(error)}` }
}

/** The steps for both kinds of server, once connected. */
async function runProtocolSteps(
  steps: DoctorSteps,
  attempt: () => ConnectionAttempt | undefined,
  ...earlierSteps: 'output'[]
): Promise<void> {
  try {
    for (const name of earlierSteps)
      await steps.step(name, () => withResult(attempt(), async (found) => checkOutput(found)))
    const client = await steps.step('handshake', () =>
      withResult(attempt(), async (found) => checkHandshake(found)),
    )
    await steps.step('lists', () => withResult(client, (found) => checkLists(found, listTimeoutMs)))
  } finally {
    await attempt()?.client?.close()
  }
}

function connectOptions(
  config: ServerConfig,
  signal: AbortSignal,
): { connectTimeoutMs: number; probeTimeoutMs: number; signal: AbortSignal } {
  const connectTimeoutMs =
    config.connectTimeoutMs ?? (mayDownload(config) ? downloadTimeoutMs : defaultConnectTimeoutMs)
  return { connectTimeoutMs, probeTimeoutMs: Math.min(5_000, Math.ceil(connectTimeoutMs / 3)), signal }
}

/** A step that needs the result of an earlier one; not started if that one failed. */
function withResult<T, R>(value: T | undefined, work: (value: T) => Promise<R>): Promise<R> {
  if (value === undefined)
    throw new StepFailure('not checked: an earlier step failed', 'Correct that one first.')
  return work(value)
}

const maxShebangBytes = 200
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
  throw new StepFailure(`no folder in PATH contains a program "${command}"`, installAdvice(command))
}

/** Variables that a shell sets for itself. */
const shellVariables: ReadonlySet<string> = new Set(['_', 'OLDPWD', 'PWD', 'SHLVL'])

/** Which environment variables it gets, and which of this process it does not. */
function checkEnvironment({ env = {}, sandbox }: StdioServerConfig): Finding {
  const defaultNames = Object.keys(defaultEnvironment())
  const passedNames = [...new Set([...defaultNames, ...Object.keys(env)])]
  const withheld = Object.keys(process.env).filter(
    (name) => !passedNames.includes(name) && !shellVariables.has(name),
  )
  const inside = sandbox ? ' (its sandbox has a PATH, HOME and LANG of its own)' : ''
  return { message: `given: ${nameList(passedNames)}${inside}; withheld: ${nameList(withheld)}` }
}

function nameList(names: readonly string[]): string {
  if (names.length === 0) return 'nothing'
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : ''
  return `${names.toSorted().slice(0, maxNames).join(', ')}${more}`
}

async function checkExecutable(file: string): Promise<{ finding: Finding; found: true }> {
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

function installAdvice(command: string): string {
  const adviceByCommand: Readonly<Record<string, string>> = {
    npx: 'Install Node.js, which brings npx.',
    node: 'Install Node.js.',
    uvx: 'Install uv, which brings uvx.',
    uv: 'Install uv.',
    docker: 'Install Docker, and start it.',
    python: 'Install Python, or try python3.',
    bunx: 'Install Bun, which brings bunx.',
    dnx: 'Install the .NET SDK, which brings dnx.',
  }
  const hint = Object.hasOwn(adviceByCommand, command) ? adviceByCommand[command] : undefined
  return hint ?? 'Install it, or write the whole path of the program as "command".'
}

async function interpreterOf(file: string): Promise<string | undefined> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxShebangBytes), 0, maxShebangBytes, 0)
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
interface ConnectionAttempt {
  client: Client | undefined
  error: unknown
  warnings: string[]
}

/** Connects and never rejects. */
async function tryToConnect(
  target: ClientTransportFactory,
  connectOptions: ConnectOptions,
): Promise<ConnectionAttempt> {
  const warnings: string[] = []
  try {
    const client = await connect(target, {
      ...connectOptions,
      onWarning: (message) => warnings.push(message),
    })
    return { client, error: undefined, warnings }
  } catch (error) {
    return { client: undefined, error, warnings }
  }
}

function checkStart({ error }: ConnectionAttempt, stderr: string): { finding: Finding; found: true } {
  if (!(error instanceof McpError)) return { finding: { message: 'it runs' }, found: true }
  const { code, details, message } = error
  if (code === 'CONNECT_FAILED' && !('exitCode' in details))
    throw new StepFailure(message, 'Start it by hand in a terminal to see its output.')
  const hasExited = /exited with code|was ended by|closed its/.test(message)
  if (!hasExited) return { finding: { message: 'it runs' }, found: true }
  const last = stderr.trim().split('\n').at(-1) ?? ''
  const advice =
    last === ''
      ? 'Start it by hand in a terminal to see its output.'
      : 'Its output on stderr says why. It may need an argument, a variable in "env", or a package.'
  throw new StepFailure(message, advice)
}

/** Whether it writes only protocol messages to stdout. */
function checkOutput({ client, warnings }: ConnectionAttempt): { finding: Finding; found: true } {
  const noiseWarnings = warnings.filter((warning) =>
    warning.startsWith('Ignored output that is not a message'),
  )
  const [first] = noiseWarnings
  if (first === undefined) return { finding: { message: 'only messages' }, found: true }
  const times = noiseWarnings.length === 1 ? 'once' : `${noiseWarnings.length} times`
  const message = `it wrote text that is not a message to stdout, ${times}; first: ${first.replace(/^Ignored output that is not a message /, '')}`
  const advice =
    'Its logs belong on stderr. Look for an option that makes it quiet, or report it to its developer.'
  if (client === undefined) throw new StepFailure(message, advice)
  // It is ignored here, but other clients close such a connection.
  return { finding: { message, note: true, advice }, found: true }
}

/** Whether both sides support a common revision. */
function checkHandshake({ client, error }: ConnectionAttempt): { finding: Finding; found: Client } {
  if (client !== undefined) {
    const { info, era, revision } = client.server
    const serverText = info === undefined ? 'the server' : `${info.name} ${info.version}`
    const kind = era === 'stateless' ? 'stateless' : 'with a session'
    return { finding: { message: `${serverText} speaks ${revision}, ${kind}` }, found: client }
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
    countText(tools.length, 'tool'),
    countText(prompts.length, 'prompt'),
    countText(resources.length, 'resource'),
    countText(templates.length, 'template'),
  ].join(', ')
  const isEmpty = tools.length + prompts.length + resources.length + templates.length === 0
  return {
    finding: {
      message,
      ...(isEmpty && {
        note: true,
        advice: 'It offers no tools, prompts or resources. It may need an option that selects them.',
      }),
    },
    found: true,
  }
}

function countText(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
