import { lstat, readdir, readlink, realpath } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { McpError } from '@jackfield/sdk'
import { exists, isWithin } from '../../shared/files.ts'

/** One entry of the sandbox, visible at `at`. */
export type Mount =
  | { kind: 'read' | 'write'; from: string; at: string; optional?: boolean }
  | { kind: 'link'; to: string; at: string }
  /** A read-only folder in memory that contains other mounts. */
  | { kind: 'folder'; at: string }

/** Folders of the system's programs and libraries. */
export const systemFolders: readonly string[] = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/nix/store',
]
const systemFiles = [
  '/etc/alternatives',
  '/etc/ca-certificates',
  '/etc/group',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/mime.types',
  '/etc/nsswitch.conf',
  '/etc/passwd',
  '/etc/pki/ca-trust',
  '/etc/pki/tls/certs',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
]
const networkFiles = ['/etc/hosts', '/etc/resolv.conf', '/etc/services', '/etc/gai.conf', '/etc/host.conf']

/** Paths below the home folder that stay hidden even if a parent folder is open, unless they are named themselves. */
const secretPaths = [
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.password-store',
  '.mozilla',
  '.config/gcloud',
  '.config/gh',
  '.config/google-chrome',
  '.config/chromium',
  '.config/jackfield',
  '.local/share/keyrings',
  '.local/share/jackfield',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
  '.bash_history',
  '.zsh_history',
]
/** Sockets of services that run programs for their clients (D-Bus, container engines). */
const serviceFolders = ['/run', '/var/run']
/** The mounts of every sandbox. */
const ownFolders = ['/dev', '/proc', '/tmp']
/** Mounts made one by one; bubblewrap's time grows with their square. */
const maxEntries = 500

type Environment = Readonly<Record<string, string | undefined>>

/** The system's programs and libraries, and the few files they read; with network files if the network is shared. */
export async function systemMounts(network: boolean): Promise<Mount[]> {
  const folders = await Promise.all(systemFolders.map(async (at) => systemMount(at)))
  const files = await Promise.all(
    [...systemFiles, ...(network ? networkFiles : [])].map(async (at): Promise<Mount[]> => {
      return (await exists(at)) ? [{ kind: 'read', from: at, at }] : []
    }),
  )
  return [...folders, ...files].flat()
}

/** Network files that are links into a service folder, by their real names. */
export async function linkedNetworkFiles(): Promise<Mount[]> {
  const real = await Promise.all(networkFiles.map(realPathOf))
  return real
    .filter((at) => serviceFolders.some((folder) => isWithin(at, folder)))
    .map((at) => ({ kind: 'read', from: at, at, optional: true }))
}

/** A file or folder of the user, by its given name and its real one. */
export async function userMounts(kind: 'read' | 'write', path: string): Promise<Mount[]> {
  const real = await realpath(path)
  return [...new Set([path, real])].map((at) => ({ kind, from: real, at }))
}

/** The paths hidden in an open folder, whether they exist or not: by name in the home folder and by link target. */
export async function hiddenPaths(home: string, env: Environment): Promise<string[]> {
  const homes = new Set([home, accountHome() ?? home])
  const secretLocations = [...homes].flatMap((folder) => secretPaths.map((name) => join(folder, name)))
  for (const [variable, standard] of [
    ['XDG_CONFIG_HOME', '.config/'],
    ['XDG_DATA_HOME', '.local/share/'],
  ] as const) {
    const folder = env[variable]
    if (!folder?.startsWith('/')) continue
    const inIt = secretPaths.filter((name) => name.startsWith(standard))
    secretLocations.push(...inIt.map((name) => join(folder, name.slice(standard.length))))
  }
  const byName = secretLocations.map(async (path) => join(await realPathOf(dirname(path)), basename(path)))
  return [
    ...new Set(await Promise.all([...byName, ...[...secretLocations, ...serviceFolders].map(realPathOf)])),
  ]
}

/**
 * The mounts without hidden paths. A folder around a hidden path is not mounted itself, because a mount over a name in it would
 * disappear when that name is replaced: it becomes a folder in memory, with a mount for each current entry.
 * @throws McpError 'INVALID' if such a folder is to be writable
 */
export async function withoutHidden(mounts: readonly Mount[], hidden: readonly string[]): Promise<Mount[]> {
  const wholeMounts: Mount[] = []
  const entries: Mount[] = []
  for (const mount of mounts) {
    const from = 'from' in mount ? mount.from : undefined
    const inIt = hidden.filter((path) => from !== undefined && path !== from && isWithin(path, from))
    if (from === undefined || inIt.length === 0) wholeMounts.push(mount)
    else if (mount.kind === 'write') throw notWritable(mount.at, inIt)
    else entries.push(...(await entriesOf(from, mount.at, inIt)))
    if (entries.filter(({ kind }) => kind === 'read').length > maxEntries) {
      throw new McpError(
        'INVALID',
        `It was not started, because its sandbox opens ${mount.at}, which contains hidden paths, so that its entries are opened one by one, and there are more than ${maxEntries}. List the folders in it that it needs instead`,
      )
    }
  }
  // The target of a link among the entries is mounted by its real name too.
  const links = entries.filter(({ kind }) => kind === 'link')
  return [...entries, ...wholeMounts.filter(({ at }) => !links.some((link) => isWithin(at, link.at)))]
}

async function entriesOf(from: string, at: string, hidden: readonly string[]): Promise<Mount[]> {
  const entries = await readdir(from, { withFileTypes: true })
  const mounts = entries.map(async (entry): Promise<Mount[]> => {
    const [path, inside] = [join(from, entry.name), join(at, entry.name)]
    if (hidden.includes(path) || (at === '/' && ownFolders.includes(inside))) return []
    if (entry.isSymbolicLink()) {
      const to = await readlink(path).catch(() => undefined)
      return to === undefined ? [] : [{ kind: 'link', to, at: inside }]
    }
    if (entry.isDirectory() && hidden.some((one) => isWithin(one, path))) {
      return entriesOf(path, inside, hidden).catch((): Mount[] => [])
    }
    if (!entry.isDirectory() && !entry.isFile()) return []
    return [{ kind: 'read', from: path, at: inside, optional: true }]
  })
  // The root of a sandbox is such a folder already.
  return [...(at === '/' ? [] : [{ kind: 'folder', at } as const]), ...(await Promise.all(mounts)).flat()]
}

function notWritable(at: string, hidden: readonly string[]): McpError {
  const names = hidden.slice(0, 3).join(', ')
  return new McpError(
    'INVALID',
    `It was not started, because its sandbox lists ${at} under "write", which contains hidden paths (${names}, …). List the folders in it that it may write, and ${at} under "read" if the rest is to be read`,
  )
}

function accountHome(): string | undefined {
  try {
    return userInfo().homedir
  } catch {
    // The account has no entry in the user database.
    return undefined
  }
}

/** The real path, also of something that does not exist. */
async function realPathOf(path: string): Promise<string> {
  return realpath(path).catch(async () => {
    const parent = dirname(path)
    return parent === path ? path : join(await realPathOf(parent), basename(path))
  })
}

/** Outer folders before their contents, since a later mount covers an earlier one. */
function sortByDepth(mounts: readonly Mount[]): Mount[] {
  const depth = ({ at }: Mount): number => at.split('/').filter(Boolean).length
  const rank = ({ kind }: Mount): number => (kind === 'write' ? 1 : 0)
  return [...mounts].sort((a, b) => depth(a) - depth(b) || rank(a) - rank(b))
}

async function systemMount(at: string): Promise<Mount[]> {
  const stats = await lstat(at).catch(() => undefined)
  if (stats === undefined) return []
  if (stats.isSymbolicLink()) return [{ kind: 'link', to: await readlink(at), at }]
  return [{ kind: 'read', from: at, at }]
}

interface SandboxPlan {
  mounts: readonly Mount[]
  /** The home folder in the sandbox, if it has one besides `/tmp`: in memory, and empty at every start. */
  home: string | undefined
  cwd: string
  /** Maximum bytes of each folder in memory; undefined if this bubblewrap cannot limit them. */
  temporaryBytes: number | undefined
  /** Whether the machine's network is shared without restrictions. */
  network: boolean
  /** Variables that bubblewrap must set itself, since its own loader would read them. */
  variables: readonly (readonly [string, string])[]
  /** What runs inside: a program with its arguments. */
  command: readonly string[]
}

/** The arguments of bubblewrap, passed without a shell. */
export function bwrapArguments(plan: SandboxPlan): string[] {
  const { mounts, home, cwd, temporaryBytes, network, variables, command } = plan
  const size = temporaryBytes === undefined ? [] : ['--size', String(temporaryBytes)]
  const tmpfsArguments = (at: string): string[] => [...size, '--tmpfs', at]
  return [
    '--unshare-all',
    ...(network ? ['--share-net'] : []),
    '--die-with-parent',
    '--new-session',
    '--cap-drop',
    'ALL',
    ...['--proc', '/proc', '--dev', '/dev', ...tmpfsArguments('/dev/shm'), ...tmpfsArguments('/tmp')],
    ...(home === undefined ? [] : tmpfsArguments(home)),
    ...sortByDepth(unique(mounts)).flatMap(argumentsOf),
    // Made read-only last: writes go to size-limited folders in memory, or fail.
    ...['/', '/dev', ...mounts.filter(({ kind }) => kind === 'folder').map(({ at }) => at)].flatMap((at) => [
      '--remount-ro',
      at,
    ]),
    '--chdir',
    cwd,
    ...variables.flatMap(([name, value]) => ['--setenv', name, value]),
    '--',
    ...command,
  ]
}

function argumentsOf(mount: Mount): string[] {
  switch (mount.kind) {
    case 'read':
      return [mount.optional === true ? '--ro-bind-try' : '--ro-bind', mount.from, mount.at]
    case 'write':
      return ['--bind', mount.from, mount.at]
    case 'link':
      return ['--symlink', mount.to, mount.at]
    case 'folder':
      return ['--tmpfs', mount.at]
  }
}

function unique(mounts: readonly Mount[]): Mount[] {
  return [...new Map(mounts.map((mount) => [`${mount.kind} ${mount.at}`, mount])).values()]
}
