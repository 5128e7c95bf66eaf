import { existsSync } from 'node:fs'
import { win32 } from 'node:path'
import { McpError } from '../jsonrpc/error.ts'

/** What to give to `spawn`. */
export interface Launch {
  command: string
  args: string[]
  /** Whether the arguments are already one command line. */
  verbatim: boolean
}

const unsafe = /["%!&|<>^\r\n]/

/**
 * How to start a command on Windows, where `npx` and its like are `.cmd` scripts that only `cmd.exe` can run.
 * @throws McpError 'INVALID' for an argument that `cmd.exe` would take for more than text
 */
export function windowsLaunch(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
  exists: (path: string) => boolean = existsSync,
): Launch {
  const found = find(command, env, cwd, exists)
  if (found === undefined || !/^\.(?:cmd|bat)$/i.test(win32.extname(found))) {
    return { command: found ?? command, args: [...args], verbatim: false }
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
    command: variable(env, 'COMSPEC') ?? 'cmd.exe',
    args: ['/d', '/s', '/c', `"${line}"`],
    verbatim: true,
  }
}

function find(
  command: string,
  env: Readonly<Record<string, string>>,
  cwd: string,
  exists: (path: string) => boolean,
): string | undefined {
  const extensions = (variable(env, 'PATHEXT') ?? '.COM;.EXE;.BAT;.CMD').split(';').filter(Boolean)
  const endings = win32.extname(command) === '' ? extensions : ['', ...extensions]
  const places =
    win32.isAbsolute(command) || /[\\/]/.test(command)
      ? [cwd]
      : (variable(env, 'PATH') ?? '').split(win32.delimiter).filter((place) => win32.isAbsolute(place))
  for (const place of places) {
    for (const ending of endings) {
      const path = win32.resolve(place, command + ending)
      if (exists(path)) return path
    }
  }
  return undefined
}

function variable(env: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1]
}
