import { lstat, readdir, readlink, realpath, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { McpError } from '@jackfield/sdk'
import { isWithin } from '../../shared/files.ts'

/** One thing that is seen in the sandbox, at `at`. */
export type Mount =
  | { kind: 'read' | 'write'; from: string; at: string; optional?: boolean }
  | { kind: 'link'; to: string; at: string }
  /** A folder in memory that contains the mounts in it, and that nothing can be added to. */
  | { kind: 'folder'; at: string }

const systemFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/nix/store']
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

/** Under the home folder: left out even where a folder around them is open, unless they are named themselves. */
const secrets = [
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
/** Sockets of services that run programs for whoever connects (D-Bus, container engines). */
const services = ['/run', '/var/run']
/** What every sandbox has of its own. */
const ownFolders = ['/dev', '/proc', '/tmp']
/** Mounts made one by one; the time that bubblewrap takes grows with their square. */
const maxEntries = 500

type Environment = Readonly<Record<string, string | undefined>>

/** The system's programs and libraries, and the few files that they read; with those of the network if it is shared. */
export async function systemMounts(network: boolean): Promise<Mount[]> {
  const folders = await Promise.all(systemFolders.map(async (at) => systemMount(at)))
  const files = await Promise.all(
    [...systemFiles, ...(network ? networkFiles : [])].map(async (at): Promise<Mount[]> => {
      return (await exists(at)) ? [{ kind: 'read', from: at, at }] : []
    }),
  )
  return [...folders, ...files].flat()
}

/** Of the files of the network those that are links into a folder of services, by their real names. */
export async function linkedNetworkFiles(): Promise<Mount[]> {
  const real = await Promise.all(networkFiles.map(realOf))
  return real
    .filter((at) => services.some((folder) => isWithin(at, folder)))
    .map((at) => ({ kind: 'read', from: at, at, optional: true }))
}

/** A file or folder of the person's, by the name it was given and by its real one. */
export async function ownMounts(kind: 'read' | 'write', path: string): Promise<Mount[]> {
  const real = await realpath(path)
  return [...new Set([path, real])].map((at) => ({ kind, from: real, at }))
}

/**
 * The paths that stay hidden in an open folder, whether there is anything yet or not: by their names in the home folder and
 * by what these link to.
 */
export async function hiddenPaths(home: string, env: Environment): Promise<string[]> {
  const homes = new Set([home, accountHome() ?? home])
  const places = [...homes].flatMap((folder) => secrets.map((name) => join(folder, name)))
  for (const [variable, standard] of [
    ['XDG_CONFIG_HOME', '.config/'],
    ['XDG_DATA_HOME', '.local/share/'],
  ] as const) {
    const folder = env[variable]
    if (!folder?.startsWith('/')) continue
    const inIt = secrets.filter((name) => name.startsWith(standard))
    places.push(...inIt.map((name) => join(folder, name.slice(standard.length))))
  }
  const byName = places.map(async (path) => join(await realOf(dirname(path)), basename(path)))
  return [...new Set(await Promise.all([...byName, ...[...places, ...services].map(realOf)]))]
}

/**
 * The mounts without what is hidden. A folder around a hidden path is not mounted itself, as what is mounted over a name in
 * it is gone when that name is replaced: it becomes a folder in memory, with a mount for each entry that it has now.
 * @throws McpError 'INVALID' where such a folder is to be writable
 */
export async function withoutHidden(mounts: readonly Mount[], hidden: readonly string[]): Promise<Mount[]> {
  const whole: Mount[] = []
  const entries: Mount[] = []
  for (const mount of mounts) {
    const from = 'from' in mount ? mount.from : undefined
    const inIt = hidden.filter((path) => from !== undefined && path !== from && isWithin(path, from))
    if (from === undefined || inIt.length === 0) whole.push(mount)
    else if (mount.kind === 'write') throw notWritable(mount.at, inIt)
    else entries.push(...(await entriesOf(from, mount.at, inIt)))
    if (entries.filter(({ kind }) => kind === 'read').length > maxEntries) {
      throw new McpError(
        'INVALID',
        `It was not started, because its sandbox opens ${mount.at}, which contains what stays hidden, so that its entries are opened one by one, and there are more than ${maxEntries}. List the folders in it that it needs instead`,
      )
    }
  }
  // What is named by a link among the entries is mounted by its real name too.
  const links = entries.filter(({ kind }) => kind === 'link')
  return [...entries, ...whole.filter(({ at }) => !links.some((link) => isWithin(at, link.at)))]
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
    `It was not started, because its sandbox lists ${at} under "write", which contains what stays hidden (${names}, …). List the folders in it that it may write, and ${at} under "read" if the rest is to be read`,
  )
}

function accountHome(): string | undefined {
  try {
    return userInfo().homedir
  } catch {
    // The account has no entry in the list of users.
    return undefined
  }
}

/** The real path, also of what does not exist. */
async function realOf(path: string): Promise<string> {
  return realpath(path).catch(async () => {
    const above = dirname(path)
    return above === path ? path : join(await realOf(above), basename(path))
  })
}

/** Outer folders before what lies in them, since a later mount covers an earlier one. */
function inOrder(mounts: readonly Mount[]): Mount[] {
  const depth = ({ at }: Mount): number => at.split('/').filter(Boolean).length
  const rank = ({ kind }: Mount): number => (kind === 'write' ? 1 : 0)
  return [...mounts].sort((a, b) => depth(a) - depth(b) || rank(a) - rank(b))
}

async function systemMount(at: string): Promise<Mount[]> {
  const found = await lstat(at).catch(() => undefined)
  if (found === undefined) return []
  if (found.isSymbolicLink()) return [{ kind: 'link', to: await readlink(at), at }]
  return [{ kind: 'read', from: at, at }]
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

interface BoxPlan {
  mounts: readonly Mount[]
  /** The home folder in the sandbox where it has one besides `/tmp`: in memory, and empty at every start. */
  home: string | undefined
  cwd: string
  /** Bytes that each of the folders in memory may hold; undefined where this bubblewrap cannot limit them. */
  temporaryBytes: number | undefined
  /** Whether the network of this machine is shared whole. */
  network: boolean
  /** Variables that bubblewrap must set itself, since its own loader would read them. */
  variables: readonly (readonly [string, string])[]
  /** What runs inside: a program with its arguments. */
  command: readonly string[]
}

/** The arguments of bubblewrap. Every one is passed as it is; no shell reads them. */
export function bwrapArguments(plan: BoxPlan): string[] {
  const { mounts, home, cwd, temporaryBytes, network, variables, command } = plan
  const size = temporaryBytes === undefined ? [] : ['--size', String(temporaryBytes)]
  const memory = (at: string): string[] => [...size, '--tmpfs', at]
  return [
    '--unshare-all',
    ...(network ? ['--share-net'] : []),
    '--die-with-parent',
    '--new-session',
    '--cap-drop',
    'ALL',
    ...['--proc', '/proc', '--dev', '/dev', ...memory('/dev/shm'), ...memory('/tmp')],
    ...(home === undefined ? [] : memory(home)),
    ...inOrder(unique(mounts)).flatMap(argumentsOf),
    // Their content is complete: what is written goes to the folders in memory that have a size, or nowhere.
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
