import { constants } from 'node:fs'
import { access, open, stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { defaultEnvironment } from '@jackfield/sdk/client/stdio'
import { findProgram as programFile } from '../../shared/program-file.ts'
import type { StdioServerConfig } from '../../types/index.ts'
import { Fault, type Finding } from './chart.ts'

const firstBytes = 200
const mostNames = 60

/** Finds the file that a command names, as the system would. */
export async function findProgram({
  command,
  env,
  cwd,
}: StdioServerConfig): Promise<{ finding: Finding; found: string }> {
  const folder = resolve(cwd ?? '.')
  if (cwd !== undefined && !(await isFolder(folder)))
    throw new Fault(
      `the folder ${folder} that it is to run in does not exist`,
      'Correct "cwd", or make the folder.',
    )
  if (isAbsolute(command) || command.includes('/') || command.includes('\\')) {
    const file = resolve(folder, command)
    if (await isFile(file)) return { finding: { message: file }, found: file }
    throw new Fault(`there is no file ${file}`, 'Correct "command", or install what it names.')
  }
  const path = env?.['PATH'] ?? process.env['PATH'] ?? ''
  const file = await programFile(command, { path, cwd: folder, env: process.env })
  if (file !== undefined) return { finding: { message: file }, found: file }
  throw new Fault(`no folder of PATH holds a program "${command}"`, advice(command))
}

/** Which variables it gets, and which of this process's environment it does not. */
export function judgeEnvironment({ env = {}, sandbox }: StdioServerConfig): Finding {
  const usual = Object.keys(defaultEnvironment())
  const given = [...new Set([...usual, ...Object.keys(env)])]
  const withheld = Object.keys(process.env).filter((name) => !given.includes(name))
  const inside = sandbox ? ' (its sandbox has a PATH, HOME and LANG of its own)' : ''
  return { message: `given: ${listed(given)}${inside}; withheld: ${listed(withheld)}` }
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'nothing'
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : ''
  return `${names.toSorted().slice(0, mostNames).join(', ')}${more}`
}

/** Whether the file may be started. */
export async function mayRun(file: string): Promise<{ finding: Finding; found: true }> {
  try {
    await access(file, constants.X_OK)
  } catch {
    throw new Fault(`${file} is not allowed to be executed`, `Allow it with: chmod +x ${file}`)
  }
  const interpreter = await interpreterOf(file)
  if (interpreter !== undefined && isAbsolute(interpreter) && !(await isFile(interpreter)))
    throw new Fault(
      `its first line wants ${interpreter}, which does not exist`,
      `Install it, or correct the first line of ${file}.`,
    )
  return { finding: { message: 'may be started' }, found: true }
}

function advice(command: string): string {
  const known: Readonly<Record<string, string>> = {
    npx: 'Install Node.js, which brings npx.',
    node: 'Install Node.js.',
    uvx: 'Install uv, which brings uvx.',
    uv: 'Install uv.',
    docker: 'Install Docker, and start it.',
    python: 'Install Python, or try python3.',
    bunx: 'Install Bun, which brings bunx.',
    dnx: 'Install the .NET SDK, which brings dnx.',
  }
  const hint = Object.hasOwn(known, command) ? known[command] : undefined
  return hint ?? 'Install it, or write the whole path of the program as "command".'
}

async function interpreterOf(file: string): Promise<string | undefined> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(firstBytes), 0, firstBytes, 0)
    return /^#!\s*(\S+)/.exec(buffer.toString('latin1', 0, bytesRead))?.[1]
  } finally {
    await handle.close()
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
