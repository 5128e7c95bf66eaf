const posix = [
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
const windows = [
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

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The environment of a server process: the variables programs need to run, those named in `inherit`, and `configured`.
 * Everything else, secrets above all, stays behind.
 */
export function childEnvironment(
  parent: Environment,
  platform: string,
  inherit: readonly string[],
  configured: Environment,
): Record<string, string> {
  const fold = (name: string): string => (platform === 'win32' ? name.toUpperCase() : name)
  const allowed = new Set([...(platform === 'win32' ? windows : posix), ...inherit].map(fold))
  const child: Record<string, string> = {}
  for (const [name, value] of Object.entries(parent)) {
    // A value that begins so is an exported shell function.
    if (value !== undefined && allowed.has(fold(name)) && !value.startsWith('()')) child[name] = value
  }
  for (const [name, value] of Object.entries(configured)) {
    for (const known of Object.keys(child)) if (fold(known) === fold(name)) delete child[known]
    if (value !== undefined) child[name] = value
  }
  return child
}

/** The variables of this process that `stdio` hands on to every server it starts: PATH, HOME, LANG and the few like them. */
export function defaultEnvironment(): Record<string, string> {
  return childEnvironment(process.env, process.platform, [], {})
}
