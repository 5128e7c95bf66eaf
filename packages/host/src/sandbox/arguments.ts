import { inOrder, type Mount } from './mounts.ts'

export interface BoxPlan {
  mounts: readonly Mount[]
  /** The home folder in the sandbox where it has one besides `/tmp`: in memory, and empty at every start. */
  home: string | undefined
  cwd: string
  /** Whether the network of this machine is shared whole. */
  network: boolean
  /** Variables that bubblewrap must set itself, since its own loader would read them. */
  variables: readonly (readonly [string, string])[]
  /** What runs inside: a program with its arguments. */
  command: readonly string[]
}

/** The arguments of bubblewrap. Every one is passed as it is; no shell reads them. */
export function bwrapArguments({ mounts, home, cwd, network, variables, command }: BoxPlan): string[] {
  return [
    '--unshare-all',
    ...(network ? ['--share-net'] : []),
    '--die-with-parent',
    '--new-session',
    '--cap-drop',
    'ALL',
    ...mounts.filter(({ at }) => at === '/').flatMap(argumentsOf),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...(home === undefined ? [] : ['--tmpfs', home]),
    ...inOrder(unique(mounts.filter(({ at }) => at !== '/'))).flatMap(argumentsOf),
    '--remount-ro',
    '/',
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
      return ['--ro-bind', mount.from, mount.at]
    case 'write':
      return ['--bind', mount.from, mount.at]
    case 'link':
      return ['--symlink', mount.to, mount.at]
    case 'empty':
      return ['--tmpfs', mount.at]
  }
}

function unique(mounts: readonly Mount[]): Mount[] {
  return [...new Map(mounts.map((mount) => [`${mount.kind} ${mount.at}`, mount])).values()]
}
