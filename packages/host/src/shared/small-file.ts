import { readFile, stat } from 'node:fs/promises'

/** What a file holds. A device, a pipe and a file of more than `most` bytes, which somebody else may have named, are not read. */
export async function readSmallFile(file: string, most: number): Promise<Buffer> {
  const found = await stat(file)
  if (!found.isFile()) throw Object.assign(new Error('it is no file'), { code: 'it is no file' })
  if (found.size > most) {
    const reason = `it holds more than ${most} bytes`
    throw Object.assign(new Error(reason), { code: reason })
  }
  return readFile(file)
}
