import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ElicitParams } from '@jackfield/sdk'
import { onTestFinished } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { folder, until, type Watched } from '../fixtures/hosts.ts'

/** A store in a folder that goes away with the test. */
export const storeFile = (): string => join(folder(), 'activity.db')

/** The id of the open question, once there is one. */
export async function oneOpen(host: Watched): Promise<string> {
  await until(() => host.inbox.list().length === 1, 'an open question')
  return host.inbox.list()[0]?.id ?? ''
}

/** A form that asks for a seat. */
export const form = (message = 'Which seat?'): ElicitParams => ({
  message,
  requestedSchema: { type: 'object', properties: { seat: { type: 'string' } }, required: ['seat'] },
})

export const seatAnswer = (name: string) => ({ action: 'accept' as const, content: { seat: name } })

export interface Program {
  readonly child: ChildProcess
  /** Writes one line and gives the line that comes back. */
  sendLine(line: object): Promise<string>
}

/** Starts a fixture of this folder as a process; resolves when it prints that it is ready. */
export async function program(
  name: string,
  env: Record<string, string>,
  over: (stop: () => void) => void = onTestFinished,
): Promise<Program> {
  const path = programFile(new URL(name, import.meta.url))
  const child = spawn(process.execPath, [path], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  over(() => {
    child.kill('SIGKILL')
  })
  const lines = createInterface({ input: child.stdout })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended with ${code}`)
  })
  ended.catch(() => {})
  const next = async (): Promise<string> => String((await Promise.race([once(lines, 'line'), ended]))[0])
  await next()
  return {
    child,
    sendLine(line) {
      const answer = next()
      child.stdin.write(`${JSON.stringify(line)}\n`)
      return answer
    },
  }
}
