import { crc32 } from 'node:zlib'
import { McpError } from '@jackfield/sdk'
import { libraries } from '../../shared/libraries.ts'
import { oneLine } from '../../shared/text.ts'

/** One file of an archive. */
export interface PackedFile {
  /** With `/` as separator; never absolute, never with `..`. */
  readonly path: string
  readonly bytes: Uint8Array
  readonly executable: boolean
}

interface Entry {
  readonly name: string
  readonly packed: number
  readonly size: number
  readonly checksum: number
  readonly mode: number
  readonly method: number
  readonly encrypted: boolean
}

/** Bytes and number of all files together, and the maximum compression ratio of one. */
const limits = { bytes: 500_000_000, files: 50_000, ratio: 200 }

const endSignature = 0x06054b50
const entrySignature = 0x02014b50
const locatorSignature = 0x07064b50
const endSize = 22
const locatorSize = 20
const entrySize = 46
const maxCommentChars = 65_535
/** Below this size the compression ratio is not checked. */
const minRatioBytes = 1_000_000
const typeMask = 0o170000
const fileType = 0o100000
const folderType = 0o040000

/**
 * The files of a zip archive. Its whole directory is checked before anything is unpacked.
 * @throws McpError 'INVALID' for an invalid archive or one with paths outside it, 'LIMIT' for one that is too large
 */
export function unpackArchive(bytes: Uint8Array): PackedFile[] {
  const entries = readDirectory(bytes)
  const files = new Map<string, Entry>()
  const lowerCasePaths = new Set<string>()
  let packedBytes = 0
  let total = 0
  for (const entry of entries) {
    if (entry.name.endsWith('/')) {
      checkPath(entry.name.slice(0, -1))
      continue
    }
    const path = checkPath(entry.name)
    if (lowerCasePaths.has(path.toLowerCase())) throw invalidBundle(`holds "${oneLine(path)}" twice`)
    lowerCasePaths.add(path.toLowerCase())
    const type = entry.mode & typeMask
    if (type !== 0 && type !== fileType && type !== folderType) {
      throw invalidBundle(`contains "${oneLine(path)}", which is a link or a device`)
    }
    if (entry.encrypted || (entry.method !== 0 && entry.method !== 8)) {
      throw invalidBundle(`contains "${oneLine(path)}" in an unsupported compression method`)
    }
    packedBytes += entry.packed
    if (packedBytes > bytes.length) throw invalidBundle(`is damaged: "${oneLine(path)}" exists twice`)
    total += entry.size
    if (total > limits.bytes) throw bundleTooLarge(`unpacks to more than ${limits.bytes} bytes`)
    if (entry.size > minRatioBytes && entry.size > entry.packed * limits.ratio) {
      throw bundleTooLarge(`contains "${oneLine(path)}", whose compression ratio is too high`)
    }
    files.set(entry.name, entry)
  }
  for (const path of lowerCasePaths) {
    const parts = path.split('/')
    for (let n = 1; n < parts.length; n++) {
      if (lowerCasePaths.has(parts.slice(0, n).join('/')))
        throw invalidBundle(`contains "${oneLine(path)}" inside of a file`)
    }
  }
  let contents: Record<string, Uint8Array>
  try {
    contents = libraries.fflate.unzipSync(bytes, {
      filter: ({ name, originalSize }) => files.get(name)?.size === originalSize,
    })
  } catch (error) {
    throw new McpError('INVALID', 'The bundle is damaged: it cannot be unpacked', { cause: error })
  }
  return Array.from(files.values(), ({ name, size, checksum, mode }) => {
    const content = contents[name]
    if (content?.byteLength !== size) throw invalidBundle(`is damaged: "${oneLine(name)}" is incomplete`)
    if (crc32(content) !== checksum) {
      throw invalidBundle(
        `is damaged: "${oneLine(name)}" does not match its checksum in the bundle. Download the bundle again from its publisher`,
      )
    }
    return { path: name, bytes: content, executable: (mode & 0o111) !== 0 }
  })
}

function readDirectory(bytes: Uint8Array): Entry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let end = bytes.length - endSize
  const minOffset = Math.max(0, end - maxCommentChars)
  while (end >= minOffset && view.getUint32(end, true) !== endSignature) end--
  if (end < minOffset || end < 0) throw invalidBundle('is not a bundle: bundles are zip archives')
  const count = view.getUint16(end + 10, true)
  let offset = view.getUint32(end + 16, true)
  const isLocated = end >= locatorSize && view.getUint32(end - locatorSize, true) === locatorSignature
  if (count === 0xffff || offset === 0xffffffff || isLocated) {
    throw bundleTooLarge('is too large (zip64)')
  }
  // The unpacking library may use either number, and must see the same directory that is checked here.
  if (view.getUint16(end + 8, true) !== count)
    throw invalidBundle('is damaged: its directory has two lengths')
  if (count > limits.files) throw bundleTooLarge(`contains more than ${limits.files} files`)
  const entries: Entry[] = []
  for (let n = 0; n < count; n++) {
    if (offset + entrySize > end || view.getUint32(offset, true) !== entrySignature) {
      throw invalidBundle('is damaged: its directory cannot be read')
    }
    const nameLength = view.getUint16(offset + 28, true)
    const next =
      offset + entrySize + nameLength + view.getUint16(offset + 30, true) + view.getUint16(offset + 32, true)
    const raw = bytes.subarray(offset + entrySize, offset + entrySize + nameLength)
    entries.push({
      name: Buffer.from(raw).toString('utf8'),
      encrypted: (view.getUint16(offset + 8, true) & 1) === 1,
      method: view.getUint16(offset + 10, true),
      packed: view.getUint32(offset + 20, true),
      size: view.getUint32(offset + 24, true),
      checksum: view.getUint32(offset + 16, true),
      // The upper half is the file mode in archives made on Unix.
      mode: view.getUint8(offset + 5) === 3 ? view.getUint32(offset + 38, true) >>> 16 : 0,
    })
    offset = next
  }
  return entries
}

/** Whether a name is a plain file or folder name on every system. */
export function isPlainName(name: string): boolean {
  const isDevice = /^(?:con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])\s*(?:\.|$)/i.test(name)
  const hasReservedCharacter = [...name].some((char) => char < ' ' || '\\:*?"<>|'.includes(char))
  return name !== '' && !isDevice && !hasReservedCharacter && !/[. ]$/.test(name)
}

/** A path inside the target folder. */
function checkPath(name: string): string {
  if (name.length > 1_000 || !name.split('/').every(isPlainName)) {
    throw invalidBundle(`contains "${oneLine(name)}", which is not a plain path inside of it`)
  }
  return name
}

/** The error of an unusable bundle. */
export function invalidBundle(what: string): McpError {
  return new McpError('INVALID', `The bundle ${what}`)
}

function bundleTooLarge(what: string): McpError {
  return new McpError('LIMIT', `The bundle ${what}`)
}
