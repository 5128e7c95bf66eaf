import { ErrorCode, type ReadResourceResult, RpcError } from '@jackfield/sdk'
import { isRecord } from '../shared/json.ts'
import { makeVisible } from '../shared/visible.ts'
import type { AppFile } from '../types/index.ts'

const maxFiles = 8
/** Maximum characters of their contents. */
const maxCharacters = 524_288
const maxNameCharacters = 120

/**
 * The files of `ui/download-file`: embedded resources, or links to resources of the app's own server.
 * @throws RpcError for other content, or if it is too large
 */
export async function filesOf(
  contents: unknown,
  read: (uri: string) => Promise<ReadResourceResult>,
): Promise<AppFile[]> {
  if (!Array.isArray(contents) || contents.length === 0 || contents.length > maxFiles)
    throw new RpcError(ErrorCode.InvalidParams, `A download has 1 to ${maxFiles} files`)
  const files: AppFile[] = []
  let characters = 0
  for (const block of contents) {
    for (const file of await filesIn(block, read)) {
      characters += (file.text ?? file.blob ?? '').length
      if (characters > maxCharacters)
        throw new RpcError(ErrorCode.InvalidParams, `A download has at most ${maxCharacters} characters`)
      files.push(file)
    }
  }
  return files
}

async function filesIn(
  block: unknown,
  read: (uri: string) => Promise<ReadResourceResult>,
): Promise<AppFile[]> {
  if (isRecord(block) && block['type'] === 'resource') return [fileOf(block['resource'])]
  if (isRecord(block) && block['type'] === 'resource_link' && typeof block['uri'] === 'string') {
    const { contents } = await read(block['uri'])
    return contents.slice(0, maxFiles).map(fileOf)
  }
  throw new RpcError(ErrorCode.InvalidParams, 'A download has embedded resources and resource links only')
}

function fileOf(resource: unknown): AppFile {
  if (!isRecord(resource) || typeof resource['uri'] !== 'string')
    throw new RpcError(ErrorCode.InvalidParams, 'A file needs a "uri"')
  const { uri, mimeType, text, blob } = resource
  const file = {
    name: nameOf(uri),
    mimeType: typeof mimeType === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(mimeType) ? mimeType : defaultType,
  }
  if (typeof text === 'string') return { ...file, text, bytes: Buffer.byteLength(text) }
  if (typeof blob === 'string') return { ...file, blob, bytes: Buffer.byteLength(blob, 'base64') }
  throw new RpcError(ErrorCode.InvalidParams, 'A file needs "text" or "blob"')
}

const defaultType = 'application/octet-stream'

/** The end of a URI as a file name, without path separators or a leading dot. */
function nameOf(uri: string): string {
  const [path = ''] = uri.split(/[?#]/)
  let name = path.split('/').findLast((part) => part !== '') ?? ''
  try {
    name = decodeURIComponent(name)
  } catch {
    // Invalid percent-encoding: the name is used as it is.
  }
  const safeName = makeVisible(name)
    .replaceAll(/[\\/:*?"<>|\s]+/g, '_')
    .replace(/^\.+/, '')
    .slice(-maxNameCharacters)
  return safeName === '' ? 'download' : safeName
}
