const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of its path is a file',
  EACCES: 'you may not read it',
}

/** Why a file cannot be read, without the path again and the names of system calls. */
export function whyUnreadable(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const reason = 'code' in error && typeof error.code === 'string' ? reasons[error.code] : undefined
  return reason ?? error.message
}
