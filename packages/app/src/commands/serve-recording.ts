import { playBack } from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { oneLine } from '../output/sanitize.ts'
import { readRecording } from './log.ts'

/** `jackfield serve-recording <file> [server]`: responds over stdio as the recorded server did, until the input ends. */
export async function serveRecording(
  file: string | undefined,
  name: string | undefined,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  if (file === undefined)
    throw usageError('Which recording? Usage: jackfield serve-recording <file> [server]')
  const { servers } = readRecording(file, io)
  const names = Object.keys(servers)
  const chosen = name ?? (names.length === 1 ? names[0] : undefined)
  if (chosen === undefined)
    throw usageError(
      `The recording has ${names.length} servers. Name one of them: ${oneLine(names.join(', '))}.`,
    )
  const server = Object.hasOwn(servers, chosen) ? servers[chosen] : undefined
  if (server === undefined)
    throw usageError(`The recording has no server "${chosen}". It has: ${oneLine(names.join(', '))}.`)
  await playBack(server, {
    input: io.stdin,
    output: io.stdout,
    onMismatch: (message) => output.note(message),
  })
  return ExitCode.done
}
