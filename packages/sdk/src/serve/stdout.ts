/**
 * Keeps stdout for protocol messages: what anybody else writes there goes to stderr until `restore`.
 * Programs started with an inherited stdout write past it.
 */
export function guardStdout(): { write(text: string, done: () => void): void; restore(): void } {
  const { stdout, stderr } = process
  const original = stdout.write
  stdout.write = stderr.write.bind(stderr)
  stderr.on('error', ignore)
  return {
    write: (text, done) => original.call(stdout, text, 'utf8', done),
    restore: () => {
      stdout.write = original
    },
  }
}

/** A client that no longer reads stderr must not take the server down with what is logged there. */
function ignore(): void {}
