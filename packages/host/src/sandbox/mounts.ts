import { lstat, readlink, realpath, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { isWithin } from './within.ts'

/** One thing that is seen in the sandbox, at `at`. */
export type Mount =
  | { kind: 'read' | 'write'; from: string; at: string }
  | { kind: 'link'; to: string; at: string }
  | { kind: 'empty'; at: string }

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

/** Under the home folder: shown empty even where a folder around them is open, unless they are named themselves. */
const secretFolders = [
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
]
const secretFiles = ['.netrc', '.npmrc', '.pypirc', '.git-credentials', '.bash_history', '.zsh_history']

/** The system's programs and libraries, and the few files that they read; with those of the network if it is shared. */
export async function systemMounts(network: boolean): Promise<Mount[]> {
  const folders = await Promise.all(systemFolders.map(async (at) => systemMount(at)))
  const files = await Promise.all(
    [...systemFiles, ...(network ? networkFiles : [])].map(async (at): Promise<Mount[]> => {
      return (await kindOf(at)) === undefined ? [] : [{ kind: 'read', from: at, at }]
    }),
  )
  return [...folders, ...files].flat()
}

/** A file or folder of the person's, by the name it was given and by its real one. */
export async function ownMounts(kind: 'read' | 'write', path: string): Promise<Mount[]> {
  const real = await realpath(path)
  return [...new Set([path, real])].map((at) => ({ kind, from: real, at }))
}

/** What hides the keys and passwords of the person in the folders that are open. */
export async function hidden(mounts: readonly Mount[], home: string): Promise<Mount[]> {
  const secrets = await Promise.all(
    [...secretFolders, ...secretFiles].map(async (name) => {
      const real = await realpath(join(home, name)).catch(() => undefined)
      return real === undefined ? [] : [{ real, kind: await kindOf(real) }]
    }),
  )
  const named = new Set(mounts.map(({ at }) => at))
  return mounts.flatMap((mount) => {
    if (mount.kind !== 'read' && mount.kind !== 'write') return []
    return secrets.flat().flatMap(({ real, kind }): Mount[] => {
      if (real === mount.from || !isWithin(real, mount.from)) return []
      const at = join(mount.at, relative(mount.from, real))
      if (named.has(at)) return []
      return [kind === 'folder' ? { kind: 'empty', at } : { kind: 'read', from: '/dev/null', at }]
    })
  })
}

/** Outer folders before what lies in them, since a later mount covers an earlier one. */
export function inOrder(mounts: readonly Mount[]): Mount[] {
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

async function kindOf(path: string): Promise<'file' | 'folder' | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return undefined
  return found.isDirectory() ? 'folder' : 'file'
}
