const readReasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of its path is a file',
  EACCES: 'you may not read it',
}

const writeReasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the device. Free some',
  EDQUOT: 'the quota of this user is used up. Free some space',
  EROFS: 'the file system is read-only',
  EIO: 'the device failed, or the terminal is closed',
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'part of its path is a file',
  EISDIR: 'it is a folder',
  EEXIST: 'it exists already',
}

/** Why a file cannot be written. */
export function writeErrorReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message } = error
  const code = 'code' in error ? String(error.code) : ''
  const reason = writeReasons[code]
  return reason === undefined ? message : `${reason} (${code})`
}

/** Why a file cannot be read, without the path or system call names. */
export function readErrorReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const reason = 'code' in error && typeof error.code === 'string' ? readReasons[error.code] : undefined
  return reason ?? error.message
}
