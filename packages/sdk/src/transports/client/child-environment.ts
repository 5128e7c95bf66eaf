const posixNames = [
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
]
const windowsNames = [
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
  'WINDIR',
]

type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/**
 * The environment of a server process: the variables that programs need to run, those named in `inherit`, and `configured`.
 * No other variable is passed on, as it may hold a secret.
 */
export function childEnvironment(
  parent: EnvironmentVariables,
  platform: string,
  inherit: readonly string[],
  configured: EnvironmentVariables,
): Record<string, string> {
  const fold = (name: string): string => (platform === 'win32' ? name.toUpperCase() : name)
  const allowed = new Set([...(platform === 'win32' ? windowsNames : posixNames), ...inherit].map(fold))
  const child: Record<string, string> = {}
  for (const [name, value] of Object.entries(parent)) {
    // An exported shell function.
    if (value !== undefined && allowed.has(fold(name)) && !value.startsWith('()')) child[name] = value
  }
  for (const [name, value] of Object.entries(configured)) {
    for (const known of Object.keys(child)) if (fold(known) === fold(name)) delete child[known]
    if (value !== undefined) child[name] = value
  }
  return child
}

/** The variables of this process that `stdio` passes to every server: PATH, HOME, LANG and similar ones. */
export function defaultEnvironment(): Record<string, string> {
  return childEnvironment(process.env, process.platform, [], {})
}
