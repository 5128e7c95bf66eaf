import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'

/** What one descriptor of a child is, as `spawn` takes it. */
export type ChildDescriptor = 'pipe' | 'ignore' | 'inherit' | 'ipc' | number

/**
 * Calls `start` with the `stdio` to give to `spawn` or `fork`: `first`, and after it `/dev/null` in place of every further
 * descriptor that the child would inherit. Node opens its own descriptors so that no child gets them, but those that this
 * process was started with (a shell's `200<folder`, a leak of a terminal) reach every child, and with them what they are
 * open on, also from within a sandbox.
 *
 * They are replaced and not closed, as Node cannot close a descriptor of a child. Linux only, and where `/proc` can be read.
 * libuv does it on macOS (`POSIX_SPAWN_CLOEXEC_DEFAULT`); on Windows it passes no numbered descriptors on, and since the
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
    // Those between keep what they are: closed in the child.
    for (const descriptor of inherited) {
      while (stdio.length < descriptor) stdio.push('ignore')
      stdio.push(empty)
    }
    return start(stdio)
  } finally {
    closeSync(empty)
  }
}

/** The descriptors from 3 up that stay open in a child, in ascending order. */
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
    // It was closed in the meantime, as the descriptor of the listing itself is.
    return false
  }
}
