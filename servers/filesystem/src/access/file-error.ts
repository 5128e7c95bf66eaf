import { ToolError } from '@jackfield/sdk'

/** What prevented an operation on a file. */
export type FileErrorCode =
  /** Outside of the allowed directories, or a link that leads there. */
  | 'outside'
  | 'missing'
  /** Not the kind of file that the operation needs, such as a directory or a device. */
  | 'kind'
  | 'exists'
  /** It was replaced while it was used, or after the person was asked. */
  | 'changed'
  /** Above a limit of this server. */
  | 'limit'
  | 'permission'
  /** Anything else that the file system refuses. */
  | 'failed'

/** An error that the model may read: what happened to which path, and what to do next. */
export class FileError extends ToolError {
  override readonly name: string = 'FileError'
  readonly code: FileErrorCode

  constructor(code: FileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The `code` of a system error, such as `ENOENT`. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

const reasons: Readonly<Record<string, readonly [FileErrorCode, string]>> = {
  ENOENT: ['missing', 'it does not exist'],
  ENOTDIR: ['kind', 'a part of the path is not a directory'],
  ELOOP: ['changed', 'it is a symbolic link, or was replaced by one during the operation. Try again'],
  EISDIR: ['kind', 'it is a directory'],
  EEXIST: ['exists', 'it exists already'],
  ENOTEMPTY: ['kind', 'the directory is not empty'],
  EACCES: ['permission', 'the permissions of the file system do not allow it'],
  EPERM: ['permission', 'the permissions of the file system do not allow it'],
  EROFS: ['permission', 'the file system is read-only'],
  ENOSPC: ['failed', 'the disk is full. Free some space, then try again'],
  EDQUOT: ['failed', 'the disk quota is exhausted. Free some space, then try again'],
  EFBIG: ['failed', 'the file would be larger than the file system or a limit of the process allows'],
  ENAMETOOLONG: ['failed', 'the name or the path is too long for the file system'],
  EMFILE: ['failed', 'the server has too many open files. Try again later'],
  ENFILE: ['failed', 'the system has too many open files. Try again later'],
  EBUSY: ['failed', 'it is in use, or something is mounted there'],
  ETXTBSY: ['failed', 'it is a program that is running'],
  EXDEV: ['failed', 'source and destination are on different file systems'],
  EINVAL: ['failed', 'the file system does not support this name or operation'],
  EILSEQ: ['failed', 'the file system does not support this name'],
  EIO: ['failed', 'the device reported an error'],
  ESTALE: ['failed', 'the network file system no longer has it. Try again'],
}

/**
 * A system error as a `FileError`; a `FileError` stays as it is, and an error without a known code is returned unchanged.
 * @param failed what failed, with the path, such as `Cannot read /notes/a.txt`
 */
export function describeError(error: unknown, failed: string): unknown {
  if (error instanceof FileError) return error
  const errno = errnoOf(error)
  const known = errno === undefined ? undefined : reasons[errno]
  if (known !== undefined)
    return new FileError(known[0], `${failed}: ${known[1]}. (${errno})`, { cause: error })
  if (errno !== undefined && /^E[A-Z0-9]+$/.test(errno)) {
    return new FileError('failed', `${failed}: the file system refused it. (${errno})`, { cause: error })
  }
  return error
}

/** Runs an operation and describes its system errors. @throws FileError */
export async function describeErrors<T>(failed: string, operation: () => Promise<T>): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    throw describeError(error, failed)
  }
}
