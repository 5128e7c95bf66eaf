import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ContentBlock, ResourceContents, SamplingContent } from '@jackfield/sdk'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { writeErrorReason } from '../cli/file-errors.ts'
import type { Output } from '../cli/io.ts'
import { base64Bytes, formatBytes } from './content.ts'
import { oneLine } from './sanitize.ts'

/** Limits of what one result may write. */
export const mediaLimits = { files: 100, bytes: 64 * 1024 * 1024, sameName: 1_000 }

/** Extensions by media type; others get `.bin`. */
const extensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/avif': 'avif',
  'image/bmp': 'bmp',
  'image/tiff': 'tiff',
  'image/svg+xml': 'svg',
  'image/x-icon': 'ico',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/webm': 'weba',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'application/gzip': 'gz',
  'application/json': 'json',
  'text/plain': 'txt',
  'text/html': 'html',
  'text/csv': 'csv',
  'text/markdown': 'md',
}

/** Base64 data of a result, with the base of its file name. */
interface MediaItem {
  name: string
  mimeType: string | undefined
  data: string
}

/** Images, audio and binary resources in content blocks. `name` is for those without a URI. */
export function mediaOf(blocks: readonly (ContentBlock | SamplingContent)[], name: string): MediaItem[] {
  return blocks.flatMap((block): MediaItem[] => {
    switch (block.type) {
      case 'image':
      case 'audio':
        return [{ name, mimeType: block.mimeType, data: block.data }]
      case 'resource':
        return mediaOfResources([block.resource])
      case 'tool_result':
        return mediaOf(block.content, name)
      default:
        return []
    }
  })
}

/** The binary items of resource contents. */
export function mediaOfResources(contents: readonly ResourceContents[]): MediaItem[] {
  return contents.flatMap((entry) =>
    'blob' in entry ? [{ name: nameInUri(entry.uri), mimeType: entry.mimeType, data: entry.blob }] : [],
  )
}

/**
 * Writes media to new files in a folder, which is created if missing. Existing files are never written to. Throws before writing
 * anything if `mediaLimits` are exceeded or data is not base64.
 */
export async function saveMedia(
  media: readonly MediaItem[],
  folder: string,
  cwd: string,
  output: Output,
): Promise<void> {
  const total = media.reduce((sum, { data }) => sum + base64Bytes(data), 0)
  if (media.length > mediaLimits.files || total > mediaLimits.bytes) {
    throw new CliError(
      ExitCode.toolError,
      `Nothing was saved: the result has ${media.length} files of ${formatBytes(total)} in all. At most ${mediaLimits.files} files and ${formatBytes(mediaLimits.bytes)} are saved. Use --json for the data itself.`,
    )
  }
  const invalid = media.findIndex(({ data }) => /[^A-Za-z0-9+/=\s]/.test(data))
  if (invalid !== -1) {
    throw new CliError(
      ExitCode.protocol,
      `Nothing was saved: the data of ${oneLine(media[invalid]?.name ?? '', 60)} is not valid base64. Use --json to see it.`,
    )
  }
  if (media.length === 0)
    output.note('Nothing to save: the result has no images, audio or other binary data.')
  const path = resolve(cwd, folder)
  const refuse = (error: unknown): never => {
    throw usageError(`--save-media: cannot write in ${oneLine(path)}: ${writeErrorReason(error)}`)
  }
  if (media.length > 0) await mkdir(path, { recursive: true }).catch(refuse)
  for (const { name, mimeType, data } of media) {
    const bytes = Buffer.from(data, 'base64')
    const file = await writeNewFile(path, name, extensionOf(mimeType), bytes).catch(refuse)
    output.note(`${formatBytes(bytes.length)} written to ${oneLine(file)}`)
  }
}

/** Writes a file under the first free name: `chart.png`, `chart-2.png`, … Links are not followed. */
async function writeNewFile(folder: string, name: string, extension: string, bytes: Buffer): Promise<string> {
  const base = safeFileName(name).replace(new RegExp(`\\.${extension}$`, 'i'), '')
  for (let n = 1; n <= mediaLimits.sameName; n += 1) {
    const file = join(folder, `${base}${n === 1 ? '' : `-${n}`}.${extension}`)
    try {
      await writeFile(file, bytes, { flag: 'wx' })
      return file
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
  throw new Error(`there are ${mediaLimits.sameName} files named ${base}.${extension} already`)
}

/** A name from the server as a file name: no path, no leading dot, no reserved name of Windows. */
function safeFileName(name: string): string {
  const safe = name
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
    .replaceAll(/\.{2,}/g, '.')
    .replace(/^[.-]+/, '')
    .replace(/[.-]+$/, '')
  const short = [...safe].slice(0, 60).join('')
  if (short === '') return 'content'
  return /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(short) ? `file-${short}` : short
}

/** The last path segment of a URI, decoded. */
function nameInUri(uri: string): string {
  const last =
    uri
      .replace(/[?#].*$/s, '')
      .split('/')
      .findLast((part) => part !== '') ?? ''
  try {
    return decodeURIComponent(last)
  } catch {
    return last
  }
}

function extensionOf(mimeType: string | undefined): string {
  const type = mimeType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return Object.hasOwn(extensions, type) ? (extensions[type] ?? 'bin') : 'bin'
}
