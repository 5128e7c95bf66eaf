/**
 * Keeps stdout for protocol messages: what anybody else writes there goes to stderr until `restore`.
 * Programs started with an inherited stdout write past it.
 */
export function guardStdout(): { write(text: string, done: () => void): void; restore(): void } {
  const { stdout } = process
  const original = stdout.write
  stdout.write = (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | ((error?: Error | null) => void),
    done?: (error?: Error | null) => void,
  ) => {
    const stderr = heldStderr()
    return typeof encoding === 'function'
      ? stderr.write(chunk, encoding)
      : stderr.write(chunk, encoding, done)
  }
  // It takes long to make, so the first answer does not wait for it.
  setImmediate(heldStderr)
  return {
    write: (text, done) => original.call(stdout, text, 'utf8', done),
    restore: () => {
      stdout.write = original
    },
  }
}

/** stderr, whose failures are borne: a client that no longer reads it must not take the server down with what is logged. */
function heldStderr(): NodeJS.WriteStream {
  const { stderr } = process
  if (!stderr.listeners('error').includes(ignore)) stderr.on('error', ignore)
  return stderr
}

function ignore(): void {}
