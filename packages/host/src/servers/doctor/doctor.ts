import { http } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import type { ConfigEnvironment } from '../../config/variables.ts'
import type {
  DoctorReport,
  DoctorStep,
  HttpServerConfig,
  ServerConfig,
  StdioServerConfig,
} from '../../types/index.ts'
import type { Login } from '../login/login.ts'
import { fetchIn, shownProxy } from '../network/fetch.ts'
import { sandboxReady } from '../sandbox/ready.ts'
import { type Boxed, sandboxed } from '../sandbox/sandbox.ts'
import { Chart, Fault, type Finding } from './chart.ts'
import { askHttp, greetTls, judgeAccess, openPort, readAddress, resolveName } from './network.ts'
import { findProgram, judgeEnvironment, mayRun } from './program.ts'
import { judgeHandshake, judgeLists, judgeOutput, judgeStart, type Tried, tryToConnect } from './talk.ts'

export interface ExamineOptions {
  /** Asks for consent and replaces variables. */
  prepare: (config: ServerConfig) => Promise<ServerConfig>
  /** A step as it may be shown. */
  shown: (step: DoctorStep) => DoctorStep
  onStep?: ((step: DoctorStep) => void) | undefined
  /** The credentials that are kept for a server; undefined where it is given others. */
  login: (config: HttpServerConfig) => Promise<Login | undefined>
  /** Which proxy an address is reached through. */
  env: ConfigEnvironment
  signal: AbortSignal
}

const connectMs = 15_000
const listMs = 10_000
const keptChars = 4_096

/** Looks a server over, step by step, each with what was found and what to do about it. */
export async function examineServer(
  server: string,
  config: ServerConfig,
  { prepare, shown, onStep, login, env, signal }: ExamineOptions,
): Promise<DoctorReport> {
  const chart = new Chart((step) => onStep?.(shown(step)))
  const ready = await chart.step('variables', async () => {
    try {
      return { finding: { message: 'agreed to, and all variables are set' }, found: await prepare(config) }
    } catch (error) {
      throw new Fault(
        error instanceof Error ? error.message : String(error),
        'Do what it says, then look again.',
      )
    }
  })
  if (ready !== undefined) {
    if ('url' in ready) await examineAddress(ready, chart, { login, env, signal })
    else await examineProgram(ready, chart, signal)
  }
  const report = chart.report(server)
  return { ...report, steps: report.steps.map(shown) }
}

async function examineProgram(config: StdioServerConfig, chart: Chart, signal: AbortSignal): Promise<void> {
  await chart.step('environment', async () => ({ finding: judgeEnvironment(config), found: true }))
  const program = await chart.step('command', () => findProgram(config))
  await chart.step('executable', () => mayRun(program ?? ''))
  const box = config.sandbox ? await chart.step('sandbox', () => enclosed(config)) : undefined
  let said = ''
  let tried: Tried | undefined
  await chart.step('start', async () => {
    const onStderr = (text: string): void => {
      said = (said + text).slice(-keptChars)
    }
    tried = await tryToConnect(stdio({ ...(box?.launch ?? config), onStderr }), options(config, signal))
    return judgeStart(tried, said)
  })
  await finish(chart, () => tried, 'output')
  await box?.over()
}

async function enclosed(config: StdioServerConfig): Promise<{ finding: Finding; found: Boxed }> {
  const ready = await sandboxReady()
  if (!ready.ready) throw new Fault(ready.reason, ready.fix)
  const found = await sandboxed(config)
  const limits = Object.entries(ready.unenforced).map(
    ([name, reason]) => `; "${name}" is not enforced here, as ${reason}`,
  )
  return { finding: { message: `bubblewrap ${ready.version} can make one${limits.join('')}` }, found }
}

async function examineAddress(
  config: HttpServerConfig,
  chart: Chart,
  { login, env, signal }: Pick<ExamineOptions, 'login' | 'env' | 'signal'>,
): Promise<void> {
  const place = await chart.step('address', async () => readAddress(config.url, env))
  const fetch = fetchIn(env)
  const headers = config.headers ?? {}
  if (place?.proxy !== undefined) chart.skip('dns', `the proxy ${shownProxy(place.proxy)} resolves the name`)
  else await chart.step('dns', () => needed(place, resolveName))
  await chart.step('tcp', () => needed(place, (at) => openPort(at, signal)))
  if (place?.url.protocol === 'http:') chart.skip('tls', 'the address is http')
  else await chart.step('tls', () => needed(place, (at) => greetTls(at, signal)))
  const answer = await chart.step('http', () => needed(place, (at) => askHttp(at, headers, fetch, signal)))
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
      ? needed(answer, async (found) => judgeAccess(found, known))
      : { finding: { message: 'the kept login is accepted' }, found: true },
  )
  if (answer !== undefined && answer.status !== 401 && answer.status !== 403)
    tried = await tryToConnect(http(config.url, { headers, fetch }), options(config, signal))
  await finish(chart, () => tried)
}

/** What both kinds of server have in common, once there is a connection. */
async function finish(chart: Chart, tried: () => Tried | undefined, ...before: 'output'[]): Promise<void> {
  try {
    for (const name of before)
      await chart.step(name, () => needed(tried(), async (found) => judgeOutput(found)))
    const client = await chart.step('handshake', () =>
      needed(tried(), async (found) => judgeHandshake(found)),
    )
    await chart.step('lists', () => needed(client, (found) => judgeLists(found, listMs)))
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

/** A step that needs what an earlier one found; where that failed, this one is never begun. */
function needed<T, R>(value: T | undefined, work: (value: T) => Promise<R>): Promise<R> {
  if (value === undefined) throw new Fault('something before it failed', 'Begin there.')
  return work(value)
}
