import { inOrder, type Mount } from './mounts.ts'

export interface BoxPlan {
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
