import { existsSync } from 'node:fs'
import { win32 } from 'node:path'
import { invalid, McpError } from '../../jsonrpc/error.ts'

export interface Launch {
  command: string
  args: string[]
  /** Whether `args` is already a quoted command line. */
  verbatim: boolean
}

type WindowsEnvironment = Readonly<Record<string, string | undefined>>

const unsafe = /["%!&|<>^\r\n]/
const startable = /^\.(?:com|exe|bat|cmd)$/i

/**
 * How to start a command on Windows, where `npx` and similar commands are `.cmd` scripts that only `cmd.exe` can run. A bare
 * name is searched on the PATH only: Windows itself would search the working directory first.
 * @throws McpError 'INVALID' for an argument that `cmd.exe` would interpret, 'CONNECT_FAILED' for a missing program
 */
export function windowsLaunch(
  command: string,
  args: readonly string[],
  env: WindowsEnvironment,
  cwd: string,
  exists: (path: string) => boolean = existsSync,
): Launch {
  const program = findProgram(command, env, cwd, exists)
  if (program === undefined) throw noSuchProgram(command)
  if (!/^\.(?:cmd|bat)$/i.test(win32.extname(program))) {
    return { command: program, args: [...args], verbatim: false }
  }
  for (const text of [program, ...args]) {
    if (unsafe.test(text)) {
      throw invalid(
        `"${command}" is a command script, and the argument ${JSON.stringify(text)} contains a character that cmd.exe would interpret. Start the program itself, such as node.exe with the script's path.`,
      )
    }
  }
  const line = [program, ...args].map((text) => `"${text.replace(/\\+$/, '$&$&')}"`).join(' ')
  return {
    command: variable(env, 'COMSPEC') ?? systemProgram('cmd.exe', env),
    args: ['/d', '/s', '/c', `"${line}"`],
    verbatim: true,
  }
}

/** How to end a process tree. The full path of the program prevents another one on the PATH from being run. */
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

/** The error for a missing program, the same on every platform. */
export function noSuchProgram(command: string, cwd?: string, cause?: unknown): McpError {
  const name = JSON.stringify(command)
  const [program, ...args] = command.trim().split(/\s+/)
  const message =
    args.length > 0 && cwd === undefined
      ? `Could not start ${name}: no such program. If this is a program with arguments, write only ${JSON.stringify(program)} as the command, and each argument separately.`
      : cwd === undefined
        ? `Could not start ${name}: no such program. Check the spelling and the PATH.`
        : `Could not start ${name} in ${JSON.stringify(cwd)}: no such program or folder.`
  return new McpError('CONNECT_FAILED', message, { cause, details: { code: 'ENOENT' } })
}

function findProgram(
  command: string,
  env: WindowsEnvironment,
  cwd: string,
  exists: (path: string) => boolean,
): string | undefined {
  const extensions = (variable(env, 'PATHEXT') ?? '.COM;.EXE;.BAT;.CMD')
    .split(';')
    .filter((ending) => startable.test(ending))
  const endings = win32.extname(command) === '' ? extensions : ['', ...extensions]
  const folders =
    win32.isAbsolute(command) || /[\\/]/.test(command)
      ? [cwd]
      : (variable(env, 'PATH') ?? '')
          .split(win32.delimiter)
          .map((folder) => folder.replace(/^"(.*)"$/, '$1'))
          .filter((folder) => win32.isAbsolute(folder))
  for (const folder of folders) {
    for (const ending of endings) {
      const path = win32.resolve(folder, command + ending)
      if (exists(path)) return path
    }
  }
  return undefined
}

function variable(env: WindowsEnvironment, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1]
}
