import { existsSync } from 'node:fs'
import { win32 } from 'node:path'
import { McpError } from '../../jsonrpc/error.ts'

/** What to give to `spawn`. */
export interface Launch {
  command: string
  args: string[]
  /** Whether the arguments are already one command line. */
  verbatim: boolean
}

type WindowsEnvironment = Readonly<Record<string, string | undefined>>

const unsafe = /["%!&|<>^\r\n]/
const startable = /^\.(?:com|exe|bat|cmd)$/i

/**
 * How to start a command on Windows, where `npx` and its like are `.cmd` scripts that only `cmd.exe` can run. A bare
 * name is looked for on the PATH alone: Windows by itself would begin with the working directory.
 * @throws McpError 'INVALID' for an argument that `cmd.exe` would take for more than text, 'CONNECT_FAILED' for a
 * program that does not exist
 */
export function windowsLaunch(
  command: string,
  args: readonly string[],
  env: WindowsEnvironment,
  cwd: string,
  exists: (path: string) => boolean = existsSync,
): Launch {
  const found = find(command, env, cwd, exists)
  if (found === undefined) throw noSuchProgram(command)
  if (!/^\.(?:cmd|bat)$/i.test(win32.extname(found))) {
    return { command: found, args: [...args], verbatim: false }
  }
  for (const text of [found, ...args]) {
    if (unsafe.test(text)) {
      throw new McpError(
        'INVALID',
        `"${command}" is a command script, and the argument ${JSON.stringify(text)} holds a character that cmd.exe would interpret. Start the program itself, such as node.exe with the script's path.`,
      )
    }
  }
  const line = [found, ...args].map((text) => `"${text.replace(/\\+$/, '$&$&')}"`).join(' ')
  return {
    command: variable(env, 'COMSPEC') ?? systemProgram('cmd.exe', env),
    args: ['/d', '/s', '/c', `"${line}"`],
    verbatim: true,
  }
}

/** How to end a process with everything it started. The program is named in full, as another may lie on the PATH. */
export function windowsEnd(pid: number, env: WindowsEnvironment): Launch {
  return {
    command: systemProgram('taskkill.exe', env),
    args: ['/pid', String(pid), '/t', '/f'],
    verbatim: false,
  }
}

function systemProgram(name: string, env: WindowsEnvironment): string {
  return win32.join(variable(env, 'SYSTEMROOT') ?? 'C:\\Windows', 'System32', name)
}

/** A program that was not found, in the words of every platform. */
export function noSuchProgram(command: string, cwd?: string, cause?: unknown): McpError {
  const name = JSON.stringify(command)
  const why =
    cwd === undefined
      ? `Could not start ${name}: no such program. Check the spelling and the PATH.`
      : `Could not start ${name} in ${JSON.stringify(cwd)}: no such program or folder.`
  return new McpError('CONNECT_FAILED', why, { cause, details: { code: 'ENOENT' } })
}

function find(
  command: string,
  env: WindowsEnvironment,
  cwd: string,
  exists: (path: string) => boolean,
): string | undefined {
  const extensions = (variable(env, 'PATHEXT') ?? '.COM;.EXE;.BAT;.CMD')
    .split(';')
    .filter((ending) => startable.test(ending))
  const endings = win32.extname(command) === '' ? extensions : ['', ...extensions]
  const places =
    win32.isAbsolute(command) || /[\\/]/.test(command)
      ? [cwd]
      : (variable(env, 'PATH') ?? '')
          .split(win32.delimiter)
          .map((place) => place.replace(/^"(.*)"$/, '$1'))
          .filter((place) => win32.isAbsolute(place))
  for (const place of places) {
    for (const ending of endings) {
      const path = win32.resolve(place, command + ending)
      if (exists(path)) return path
    }
  }
  return undefined
}

function variable(env: WindowsEnvironment, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1]
}
