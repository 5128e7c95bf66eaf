import type { ResourceContents } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { bytesOf } from '../models/media.ts'
import type { ContentPreview } from '../types/index.ts'
import { jsonTree } from './json-tree.ts'
import { imageSize, looksLike } from './looks.ts'

const bounds = { json: 2_000_000, shown: 10_000_000, head: 64, sniff: 65_536, contents: 100 }

/** Contents in the form they are looked at. Of one text at most `characters` are shown. */
export function previewOf(contents: readonly ResourceContents[], characters: number): ContentPreview[] {
  return contents.slice(0, bounds.contents).map((entry) => {
    const seen = { uri: entry.uri, ...(entry.mimeType !== undefined && { mimeType: entry.mimeType }) }
    return 'text' in entry
      ? { ...seen, bytes: Buffer.byteLength(entry.text), ...textPreview(entry.text, entry, characters) }
      : { ...seen, bytes: bytesOf(entry.blob), ...bytesPreview(entry.blob, entry) }
  })
}

type Form<T> = T extends ContentPreview ? Omit<T, 'uri' | 'mimeType' | 'bytes'> : never

function textPreview(
  text: string,
  { uri, mimeType = '' }: ResourceContents,
  characters: number,
): Form<ContentPreview> {
  const value =
    /[/+]json\b/i.test(mimeType) || (mimeType === '' && /^\s*[[{]/.test(text)) ? parsed(text) : undefined
  const kept = text.slice(0, characters).replace(/[\ud800-\udbff]$/, '')
  const shown = { text: kept, leftOut: text.length - kept.length }
  if (value !== undefined) return { type: 'json', tree: jsonTree(value), ...shown }
  const isMarkdown = /^text\/(?:x-)?markdown\b/i.test(mimeType) || /\.(?:md|markdown)$/i.test(uri)
  return { type: isMarkdown ? 'markdown' : 'text', ...shown }
}

function bytesPreview(blob: string, { mimeType = '' }: ResourceContents): Form<ContentPreview> {
  // A multiple of four characters, so that they decode by themselves.
  const bytes = Buffer.from(blob.slice(0, bounds.sniff), 'base64')
  const looks = looksLike(bytes)
  const size = imageSize(bytes)
  const data = blob.length <= bounds.shown ? { data: blob } : {}
  if (/^image\//i.test(mimeType) || (mimeType === '' && size !== undefined))
    return { type: 'image', ...size, ...data }
  if (/^audio\//i.test(mimeType)) return { type: 'audio', ...data }
  return {
    type: 'binary',
    ...(looks !== undefined && { looksLike: looks }),
    head: bytes.subarray(0, bounds.head).toString('hex'),
  }
}

function parsed(text: string): unknown {
  if (text.length > bounds.json) return undefined
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}
