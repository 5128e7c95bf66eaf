import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'

/** An entry of the `stdio` option of `spawn`. */
export type ChildDescriptor = 'pipe' | 'ignore' | 'inherit' | 'ipc' | number

/**
 * Calls `start` with the `stdio` option for `spawn` or `fork`: `first`, then `/dev/null` in place of every further
 * descriptor that the child would inherit. Node opens its own descriptors close-on-exec, but those that this process was
 * started with (a shell's `200<folder`, a leak of a terminal) reach every child, also through a sandbox.
 *
 * They are replaced, as Node cannot close a descriptor of a child. Linux only, and only if `/proc` is readable. On macOS
 * libuv closes them (`POSIX_SPAWN_CLOEXEC_DEFAULT`); on Windows it passes on no numbered descriptors, and since the
 * version after 1.52.1 no other handles either.
 */
export function withoutInheritedDescriptors<T>(
  first: readonly ChildDescriptor[],
  start: (stdio: ChildDescriptor[]) => T,
): T {
  const inherited = inheritedDescriptors().filter((descriptor) => descriptor >= first.length)
  if (inherited.length === 0) return start([...first])
  const empty = openSync('/dev/null', 'r+')
  try {
    const stdio = [...first]
    // Descriptors in between stay closed in the child.
    for (const descriptor of inherited) {
      while (stdio.length < descriptor) stdio.push('ignore')
      stdio.push(empty)
    }
    return start(stdio)
  } finally {
    closeSync(empty)
  }
}

/** The inheritable descriptors from 3 up, in ascending order. */
function inheritedDescriptors(): number[] {
  if (process.platform !== 'linux') return []
  try {
    return readdirSync('/proc/self/fdinfo')
      .map(Number)
      .filter((descriptor) => descriptor > 2 && isInherited(descriptor))
      .sort((a, b) => a - b)
  } catch {
    return []
  }
}

const closeOnExec = 0o2000000

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
  } catch {
    // Closed meanwhile, as the descriptor of the directory listing itself is.
    return false
  }
}
