import { readdirSync, readFileSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { homedir, totalmem } from 'node:os'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { McpError } from '@jackfield/sdk'
import type { StdioTransportOptions } from '@jackfield/sdk/client/stdio'
import { expandHome, findProgram, isWithin, readErrorReason } from '../../shared/files.ts'
import type { Sandbox, StdioServerConfig } from '../../types/index.ts'
import { type ListedHost, readHosts } from './hosts.ts'
import {
  bwrapArguments,
  hiddenPaths,
  linkedNetworkFiles,
  type Mount,
  systemMounts,
  userMounts,
  withoutHidden,
} from './mounts.ts'
import { isTooBroad, programFolders } from './program.ts'
import type { SandboxProxy } from './proxy.ts'
import { processLimit, sandboxReady } from './ready.ts'

/** The command to start instead of the server's own. `closed` must be called when its process has ended. */
export interface SandboxedCommand {
  launch: Pick<StdioTransportOptions, 'command' | 'args' | 'env' | 'cwd' | 'askToEnd'>
  /** Stops the helpers of the process. */
  closed(): Promise<void>
  /** Advice about refused hosts; undefined if there were none. */
  advice(): Promise<string | undefined>
}

interface SandboxSurroundings {
  /** Additional readable folders: the allowed roots. */
  roots?: readonly string[]
  /** Called for refused network access. */
  onWarning?: (message: string) => void
  /** Default: the account's. */
  home?: string
  /** Default `process.env`. */
  env?: Readonly<Record<string, string | undefined>>
}

const defaultProcesses = 1_024
const defaultTemporaryBytes = 1_073_741_824
const innerHome = '/home/sandbox'
const proxyPath = '/dev/jackfield/way'
const forwarder = {
  from: fileURLToPath(new URL(`./forward${extname(import.meta.url)}`, import.meta.url)),
  at: `/dev/jackfield/forward.m${extname(import.meta.url).slice(1)}`,
}
/** Read by the loader of any program, so they are withheld from bubblewrap. */
const loaderVariables = /^(?:LD_.*|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|MALLOC_.*)$/
/** Variables that a server without a sandbox gets. */
const droppedVariables: Readonly<Record<string, undefined>> = {
  LOGNAME: undefined,
  SHELL: undefined,
  TERM: undefined,
  TMPDIR: undefined,
  TZ: undefined,
  USER: undefined,
}

/**
 * The command that starts a server in its sandbox. Without `sandbox` that is its own command.
 * @throws McpError 'INVALID' if a sandbox is configured and unavailable, and 'CONNECT_FAILED' if the program is missing: the
 * server must not be started then
 */
export async function sandboxed(
  config: StdioServerConfig,
  { roots = [], onWarning = () => {}, home = homedir(), env = process.env }: SandboxSurroundings = {},
): Promise<SandboxedCommand> {
  if (config.sandbox === undefined || config.sandbox === false) {
    return { launch: config, closed: async () => {}, advice: async () => undefined }
  }
  const sandbox: Sandbox = config.sandbox === true ? {} : config.sandbox
  const packageRunner = packageRunnerOf(config.command, config.args ?? [])
  const hosts = hostsOf(sandbox, packageRunner)
  const { bwrap, limitPrefix, temporaryBytes } = await requireSandbox(sandbox, env)
  const path = config.env?.['PATH'] ?? env['PATH'] ?? '/usr/bin:/bin'
  const cwd = resolve(config.cwd ?? '.')
  const program = await findProgram(config.command, { path, cwd })
  if (program === undefined) {
    throw new McpError('CONNECT_FAILED', `There is no program "${config.command}" to start`, {
      details: { code: 'ENOENT' },
    })
  }
  const args = config.args ?? []
  const context = { path, cwd, home }
  const folders = [
    ...(await programFolders(program, args, context)),
    ...(hosts === undefined ? [] : await programFolders(process.execPath, [], context)),
    ...(config.cwd === undefined || isTooBroad(cwd, home) ? [] : [cwd]),
  ]
  const userMountList = await configuredMounts(sandbox, [...folders, ...roots], config.from?.file, home)
  const refusedHosts: string[] = []
  let proxy: SandboxProxy | undefined
  if (hosts !== undefined) {
    const { startProxy } = await import('./proxy.ts')
    proxy = await startProxy(
      hosts,
      (destination, reason) => {
        refusedHosts.push(destination)
        onWarning(refusalText(destination, reason))
      },
      env,
    )
  }
  try {
    const opensRoot = userMountList.some(({ at }) => at === '/')
    const system = opensRoot
      ? await (sandbox.network === true ? linkedNetworkFiles() : [])
      : await systemMounts(sandbox.network === true)
    const hidden = await hiddenPaths(home, env)
    const sandboxHome = userMountList.some(({ at }) => isWithin(innerHome, at)) ? '/tmp' : innerHome
    const isCwdVisible = userMountList.some(({ at }) => isWithin(cwd, at) || isWithin(at, cwd))
    const configuredEnv = Object.entries(config.env ?? {})
    return {
      launch: {
        command: bwrap,
        args: bwrapArguments({
          mounts: [...(await withoutHidden([...system, ...userMountList], hidden)), ...proxyMounts(proxy)],
          home: sandboxHome === innerHome ? sandboxHome : undefined,
          cwd: isCwdVisible ? cwd : sandboxHome,
          temporaryBytes,
          network: sandbox.network === true,
          variables: configuredEnv.filter(([name]) => loaderVariables.test(name)),
          command: [
            ...limitPrefix,
            ...(proxy === undefined ? [] : [process.execPath, forwarder.at, `${proxyPath}/${proxy.socket}`]),
            program,
            ...args,
          ],
        }),
        // Not as arguments, which every user of the machine can read.
        env: {
          ...droppedVariables,
          HOME: sandboxHome,
          PATH: path,
          ...Object.fromEntries(configuredEnv.filter(([name]) => !loaderVariables.test(name))),
        },
        cwd: '/',
        askToEnd: createTerminator(proxy === undefined ? 1 : 2),
      },
      closed: async () => {
        await proxy?.close()
      },
      advice: () => adviceFor(refusedHosts, packageRunner, home),
    }
  } catch (error) {
    await proxy?.close()
    throw error
  }
}

/**
 * The allowed hosts; undefined if no proxy is needed. A package runner gets a proxy that refuses everything rather than none, so
 * that the user sees which hosts it needs.
 */
function hostsOf({ network }: Sandbox, packageRunner: PackageRunner | undefined): ListedHost[] | undefined {
  if (network === true) return undefined
  const hostList = Array.isArray(network) ? readHosts(network) : []
  return hostList.length === 0 && packageRunner === undefined ? undefined : hostList
}

/**
 * Checks that the sandbox and its limits are available.
 * @throws McpError 'INVALID' if there is no bubblewrap, or a configured limit cannot be enforced
 */
async function requireSandbox(
  sandbox: Sandbox,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ bwrap: string; limitPrefix: string[]; temporaryBytes: number | undefined }> {
  const readiness = await sandboxReady(env)
  if (!readiness.ready) {
    throw new McpError(
      'INVALID',
      `It was not started, because it is to run in a sandbox and ${readiness.reason}. ${readiness.advice}`,
    )
  }
  for (const name of ['maxProcesses', 'maxTemporaryBytes'] as const) {
    const reason = readiness.unenforced[name]
    if (reason === undefined || sandbox[name] === undefined) continue
    throw new McpError(
      'INVALID',
      `It was not started, because its sandbox sets "${name}" and that cannot be enforced here: ${reason}. Remove "${name}" to start it without this limit`,
    )
  }
  const defaultBytes = Math.min(defaultTemporaryBytes, Math.floor(totalmem() / 8))
  return {
    bwrap: readiness.program,
    limitPrefix: await processLimitCommand(sandbox.maxProcesses ?? defaultProcesses),
    temporaryBytes:
      readiness.unenforced.maxTemporaryBytes === undefined
        ? (sandbox.maxTemporaryBytes ?? defaultBytes)
        : undefined,
  }
}

/** Starts a program with a process limit in its user namespace; empty if unavailable. */
async function processLimitCommand(processes: number): Promise<string[]> {
  const limit = await processLimit()
  if ('reason' in limit) return []
  // A lower limit of the account cannot be raised, and applies.
  const limits = await readFile('/proc/self/limits', 'latin1').catch(() => '')
  const accountLimit = Number(/^Max processes +\S+ +(\d+)/m.exec(limits)?.[1] ?? processes)
  return [limit.prlimit, `--nproc=${Math.min(processes, accountLimit)}`, '--']
}

async function configuredMounts(
  sandbox: Sandbox,
  additionalFolders: readonly string[],
  file: string | undefined,
  home: string,
): Promise<Mount[]> {
  const from = file === undefined ? process.cwd() : dirname(file)
  const write = await mountsFor('write', sandbox.write ?? [], from, home)
  const read = await mountsFor('read', sandbox.read ?? [], from, home)
  // Writable paths stay writable, even if they contain a root or the program.
  const readOnlyFolders = additionalFolders.filter((folder) => !write.some(({ at }) => isWithin(folder, at)))
  const mounts = await Promise.all(
    readOnlyFolders.map((folder) => userMounts('read', folder).catch((): Mount[] => [])),
  )
  return [...write, ...read, ...mounts.flat()]
}

async function mountsFor(
  kind: 'read' | 'write',
  written: readonly string[],
  from: string,
  home: string,
): Promise<Mount[]> {
  const mounts = await Promise.all(
    written.map(async (text) => {
      const path = resolve(from, expandHome(text, home))
      try {
        return await userMounts(kind, path)
      } catch (error) {
        throw new McpError(
          'INVALID',
          `It was not started, because its sandbox lists ${path} under "${kind}" and that cannot be opened (${readErrorReason(error)}). Create it, or remove it from the list`,
        )
      }
    }),
  )
  return mounts.flat()
}

function proxyMounts(proxy: SandboxProxy | undefined): Mount[] {
  if (proxy === undefined) return []
  return [
    { kind: 'read', from: proxy.folder, at: proxyPath },
    { kind: 'read', ...forwarder },
  ]
}

function refusalText(destination: string, reason: string): string {
  return `Its sandbox blocked access to ${destination}: ${reason}`
}

/**
 * Sends SIGTERM to the programs in a sandbox: bubblewrap forwards no signal, and would kill them with itself. `ownGenerations` is the number
 * of process generations below bubblewrap that are not the server's: the sandbox's first process, and the port forwarder.
 */
function createTerminator(ownGenerations: number): (bwrap: number) => void {
  return (bwrap) => {
    const children = childrenOf()
    let generation: readonly number[] = [bwrap]
    for (let depth = 0; generation.length > 0; depth++) {
      if (depth > ownGenerations) for (const pid of generation) terminate(pid)
      generation = generation.flatMap((pid) => children.get(pid) ?? [])
    }
  }
}

/** The child processes of each process. */
function childrenOf(): Map<number, number[]> {
  const childPids = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const parent = parentOf(name)
    if (parent === undefined) continue
    const children = childPids.get(parent) ?? []
    childPids.set(parent, children)
    children.push(Number(name))
  }
  return childPids
}

function parentOf(pid: string): number | undefined {
  try {
    const statText = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The program name is in parentheses and may contain anything.
    const [, parent] = statText
      .slice(statText.lastIndexOf(')') + 1)
      .trim()
      .split(' ')
    return Number(parent)
  } catch {
    return undefined
  }
}

function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // It exited in the meantime.
  }
}

/** A program that fetches its package from a registry at every start. */
interface PackageRunner {
  program: string
  /** The registry setting's file, below the home folder. */
  settings: string
  /** The variable that can also set the registry. */
  variable: string
}

const npm = { settings: '.npmrc', variable: 'npm_config_registry' }
const uv = { settings: '.config/uv/uv.toml', variable: 'UV_DEFAULT_INDEX' }
const pip = { settings: '.config/pip/pip.conf', variable: 'PIP_INDEX_URL' }
const packageManagers: readonly [words: RegExp, way: Omit<PackageRunner, 'program'>][] = [
  [/^(?:npx|pnpx|bunx)\b|^npm (?:exec|x)\b|^(?:pnpm|yarn) dlx\b|^bun x\b/, npm],
  [/^uvx\b|^uv (?:tool run|run)\b/, uv],
  [/^pipx run\b/, pip],
]

/** The package runner of a command; undefined if it is none. */
function packageRunnerOf(command: string, args: readonly string[]): PackageRunner | undefined {
  const program = basename(command)
  const words = [program, ...args.filter((arg) => !arg.startsWith('-')).slice(0, 2)].join(' ')
  const advice = packageManagers.find(([pattern]) => pattern.test(words))?.[1]
  return advice && { program, ...advice }
}

/** Advice if a sandbox refused hosts, appended to the reason why the server did not start. */
async function adviceFor(
  refusedHosts: readonly string[],
  packageRunner: PackageRunner | undefined,
  home: string,
): Promise<string | undefined> {
  if (refusedHosts.length === 0) return undefined
  const hostsText = refusedHosts
    .map((destination) => JSON.stringify(destination.replace(/:(?:443|80)$/, '')))
    .join(', ')
  const networkAdvice = `Its sandbox blocked access to ${refusedHosts.join(', ')}; to allow it, set "network": [${hostsText}] in its "sandbox".`
  if (packageRunner === undefined) return networkAdvice
  const { program, settings, variable } = packageRunner
  const file = join(home, settings)
  const stats = await stat(file).catch(() => undefined)
  const settingsAdvice = stats?.isFile()
    ? ` ${file} is not read in the sandbox: name the registry in ${variable} under "env".`
    : ''
  return `${program} fetches what it runs at every start. ${networkAdvice}${settingsAdvice}`
}
